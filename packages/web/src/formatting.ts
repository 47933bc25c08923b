import { type Html, html } from './html.ts';
import { language, t, translated } from './language.ts';

/** The date and time in words, in UTC. */
export function dateAndTimeText(date: Date): string {
  return t('{time} UTC', { time: language().formats.dateAndTime.format(date) });
}

/** The same as markup. */
export function dateAndTime(date: Date): Html {
  return html`<time datetime="${date.toISOString()}">${dateAndTimeText(date)}</time>`;
}

/** The date in words, in UTC. */
export function day(date: Date): Html {
  return html`<time datetime="${date.toISOString()}">${t('{time} UTC', { time: language().formats.date.format(date) })}</time>`;
}

const MOMENTS = {
  day: new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }),
  minute: new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }),
  second: new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' }),
};

/**
 * The date and time in a few characters, for tables, in UTC. Pages that have a script for it show minutes and seconds in the zone
 * of the reader.
 */
export function moment(date: Date, precision: keyof typeof MOMENTS = 'minute'): Html {
  return html`<time class="moment" data-precision="${precision}" datetime="${date.toISOString()}">${MOMENTS[precision].format(date)}</time>`;
}

/** A time to wait in words, rounded up: 90 is "1 minute 30 seconds". Without seconds from an hour on. */
export function duration(seconds: number): string {
  const exact = Math.max(1, Math.ceil(seconds));
  const whole = exact > 3600 ? Math.ceil(exact / 60) * 60 : exact;
  const { units, measures } = language().formats;
  const parts: [amount: number, unit: Intl.NumberFormat][] = [
    [Math.floor(whole / 3600), units.hour],
    [Math.floor((whole % 3600) / 60), units.minute],
    [whole % 60, units.second],
  ];
  return measures.format(parts.filter(([amount]) => amount > 0).map(([amount, unit]) => unit.format(amount)));
}

/** A name that somebody chose. Its writing direction does not affect the text around it. */
export function named(name: string): Html {
  return html`<strong class="named"><bdi>${name}</bdi></strong>`;
}

/** A host name, always from left to right. */
export function hostname(host: string): Html {
  return html`<bdi class="host" dir="ltr">${host}</bdi>`;
}

const UNITS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ['year', 31_536_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

/** How long ago something was, in its largest unit, such as "3 minutes ago". */
export function ago(date: Date, now = new Date()): Html {
  const seconds = (now.getTime() - date.getTime()) / 1000;
  const found = UNITS.find(([, each]) => seconds >= each);
  const text =
    found === undefined
      ? t('less than a minute ago')
      : language().formats.ago.format(-Math.floor(seconds / found[1]), found[0]);
  return html`<time datetime="${date.toISOString()}" title="${dateAndTimeText(date)}">${text}</time>`;
}

/** The description of a device by describeUserAgent, such as "Firefox on Windows", in the current language. */
export function deviceName(described: string): string {
  const [, browser, system] = /^(.+) on (.+)$/.exec(described) ?? [];
  if (browser === undefined || system === undefined) return translated(described);
  return t('{browser} on {system}', { browser: translated(browser), system });
}
