import { AsyncLocalStorage } from 'node:async_hooks';
import { type Content, html } from './html.ts';

/** A text, or where it depends on the number `count`, its forms (CLDR plural rules). */
export type Message =
  | string
  | ({ readonly other: string } & { readonly [form in Intl.LDMLPluralRule]?: string });
/** The texts of a language, by those in English. */
export type Catalogue = Readonly<Record<string, Message>>;

/** A language that pages and mails are written in. */
export type Language = {
  /** BCP 47 */
  tag: string;
  direction: 'ltr' | 'rtl';
  catalogue: Catalogue;
  formats: ReturnType<typeof formatsOf>;
};

/** @param locale the conventions of dates and numbers, if they are not those of the language in general */
export function createLanguage(tag: string, catalogue: Catalogue, locale = tag): Language {
  // Not yet in the types of the ECMAScript version that we compile for.
  const known = new Intl.Locale(tag) as Intl.Locale & { getTextInfo(): { direction: 'ltr' | 'rtl' } };
  const { direction } = known.getTextInfo();
  return { tag, direction, catalogue, formats: formatsOf(locale) };
}

function formatsOf(locale: string) {
  const inUtc = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' });
  const unit = (name: string) =>
    new Intl.NumberFormat(locale, { style: 'unit', unit: name, unitDisplay: 'long' });
  return {
    number: new Intl.NumberFormat(locale),
    plural: new Intl.PluralRules(locale),
    date: inUtc({ dateStyle: 'long' }),
    dateAndTime: inUtc({ dateStyle: 'long', timeStyle: 'short' }),
    ago: new Intl.RelativeTimeFormat(locale, { numeric: 'always' }),
    units: { hour: unit('hour'), minute: unit('minute'), second: unit('second') },
    /** "1 minute 30 seconds" */
    measures: new Intl.ListFormat(locale, { type: 'unit', style: 'narrow' }),
    /** "two secrets, an API key" */
    list: new Intl.ListFormat(locale, { type: 'unit', style: 'short' }),
    /** "a session and two logins" */
    conjunction: new Intl.ListFormat(locale, { type: 'conjunction' }),
  };
}

export const ENGLISH = createLanguage('en', {}, 'en-GB');

const current = new AsyncLocalStorage<{ language: Language }>();

/** Runs this, and what follows from it, in a language. */
export function inLanguage<T>(language: Language, run: () => T): T {
  return current.run({ language }, run);
}

/** Changes the language for the rest of the current request. */
export function switchLanguage(language: Language): void {
  const store = current.getStore();
  if (store !== undefined) store.language = language;
}

/** The language of what runs; English where none was chosen. */
export const language = (): Language => current.getStore()?.language ?? ENGLISH;

/** The names in braces in a text. */
type Placeholder<T extends string> = T extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholder<Rest>
  : never;
type Values<T extends string, Value> = [Placeholder<T>] extends [never]
  ? []
  : [values: { readonly [Name in Placeholder<T>]: Value }];

/**
 * Says a text in the current language, with values for the names in braces. The result is markup if one of the values is, else a string.
 */
export type Translate<Text extends string> = {
  <const T extends Text>(text: T, ...values: Values<T, string | number>): string;
  <const T extends Text>(text: T, ...values: Values<T, Content>): Content;
};

export const t: Translate<string> = (text: string, values: Readonly<Record<string, Content>> = {}) => {
  const { formats } = language();
  const parts = partsOf(messageOf(text, values.count)).map((part, i) => {
    const value = i % 2 === 0 ? part : values[part];
    return typeof value === 'number' ? formats.number.format(value) : value;
  });
  const isPlain = parts.every((part) => typeof part === 'string');
  // A string unless a value is markup, as the overloads say.
  return (isPlain ? parts.join('') : html`${parts}`) as string;
};

/** Says a text that is known at run time only, such as the message of an error; in English if the language lacks it. */
export function translated(text: string): string {
  const message = messageOf(text, undefined);
  return Object.hasOwn(language().catalogue, text) ? partsOf(message).join('') : text;
}

function messageOf(text: string, count: Content): string {
  const { catalogue, formats } = language();
  const message = Object.hasOwn(catalogue, text) ? (catalogue[text] ?? text) : text;
  if (typeof message === 'string') return message;
  return message[formats.plural.select(Number(count))] ?? message.other;
}

const known = new Map<string, readonly string[]>();

/** Text and names in turn. Kept, since the texts are those of the source and the catalogues. */
function partsOf(message: string): readonly string[] {
  let parts = known.get(message);
  if (parts === undefined) {
    parts = message.split(/\{(\w+)\}/);
    known.set(message, parts);
  }
  return parts;
}
