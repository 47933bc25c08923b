import { readFileSync } from 'node:fs';
import { type Catalogue, createLanguage, ENGLISH, type Language } from '@gatehouse/web/language';
import type { Context } from 'koa';

/** The languages of the pages and mails; each has a catalogue beside this file. */
export const LANGUAGES = ['en', 'de', 'fr', 'es', 'pt', 'ja'];

const loaded = new Map<string, Language>();

/** One of LANGUAGES. Its catalogue is read when it is first needed. */
export function languageOf(tag: string): Language {
  let language = loaded.get(tag);
  if (language === undefined) {
    const text = readFileSync(new URL(`${tag}.json`, import.meta.url), 'utf8');
    const catalogue = JSON.parse(text) as Catalogue;
    language = createLanguage(tag, catalogue, tag === 'en' ? 'en-GB' : tag);
    loaded.set(tag, language);
  }
  return language;
}

/** The first language of a `ui_locales` parameter (OpenID Connect Core 1.0 §3.1.2.1) that there is, if any. */
export function requestedLanguage(uiLocales: unknown): Language | undefined {
  if (typeof uiLocales !== 'string') return undefined;
  const tag = uiLocales
    .slice(0, MAX_LOCALES)
    .split(' ')
    .map(lookUp)
    .find((it) => it !== undefined);
  return tag === undefined ? undefined : languageOf(tag);
}

/** More than anybody needs, in characters. */
const MAX_LOCALES = 200;

/** The language for a range such as de-AT: it, or the nearest that is less specific (RFC 4647 §3.4). */
function lookUp(range: string): string | undefined {
  const subtags = range.toLowerCase().split('-');
  const prefixes = subtags.map((_, i) => subtags.slice(0, subtags.length - i).join('-'));
  return prefixes.map((prefix) => LANGUAGES.find((tag) => tag.toLowerCase() === prefix)).find(Boolean);
}

/** The language of a request: that of its `ui_locales`, or the one that the browser prefers, or English. */
export function languageFor(ctx: Context): Language {
  const accepted = ctx.acceptsLanguages(LANGUAGES);
  return (
    requestedLanguage(ctx.query.ui_locales) ?? (typeof accepted === 'string' ? languageOf(accepted) : ENGLISH)
  );
}

/** A path of ours that is in the language that somebody has asked for. */
export function withLocales(path: string, uiLocales: unknown): string {
  return typeof uiLocales === 'string' ? `${path}?${new URLSearchParams({ ui_locales: uiLocales })}` : path;
}
