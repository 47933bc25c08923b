import { timeZone } from './appearance.ts';
import { type Html, html } from './html.ts';
import { language, t, translated } from './language.ts';

/** The date and time in words, in UTC: for mails, as a request may cause one to somebody elsewhere. */
export function dateAndTimeText(date: Date): string {
  return t('{time} UTC', { time: language().formats.dateAndTime.format(date) });
}

/** The date and time in words, in the zone of the page, which is named. */
export function dateAndTime(date: Date): Html {
  return html`<time datetime="${date.toISOString()}">${zonedText(date, 'dateAndTime')}</time>`;
}

/** The date in words, in the zone of the page, which is named. */
export function day(date: Date): Html {
  return html`<time datetime="${date.toISOString()}">${zonedText(date, 'date')}</time>`;
}

function zonedText(date: Date, style: 'date' | 'dateAndTime'): string {
  const zone = timeZone();
  const inUtc = language().formats[style];
  if (zone === 'UTC') return t('{time} UTC', { time: inUtc.format(date) });
  const { locale, dateStyle, timeStyle } = inUtc.resolvedOptions();
  const named = formatIn(zone, locale, { timeZoneName: 'short' }).formatToParts(date);
  const name = named.find(({ type }) => type === 'timeZoneName')?.value;
  return `${formatIn(zone, locale, { dateStyle, timeStyle }).format(date)} ${name}`;
}

const MAX_FORMATS = 50;
const formats = new Map<string, Intl.DateTimeFormat>();

/** A format. Some are cached, since the rows of a list share one. */
function formatIn(zone: string, locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify([zone, locale, options]);
  const known = formats.get(key);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat(locale, { ...options, timeZone: zone });
  if (formats.size >= MAX_FORMATS) formats.clear();
  formats.set(key, format);
  return format;
}

const MOMENTS = {
  day: { dateStyle: 'medium' },
  minute: { dateStyle: 'medium', timeStyle: 'short' },
  second: { dateStyle: 'medium', timeStyle: 'medium' },
} as const;

/** The date and time in a few characters, for tables: in the zone of the page, which is named elsewhere on it. Days are those of UTC. */
export function moment(date: Date, precision: keyof typeof MOMENTS = 'minute'): Html {
  const format = formatIn(precision === 'day' ? 'UTC' : timeZone(), 'en-GB', MOMENTS[precision]);
  return html`<time class="moment" data-precision="${precision}" datetime="${date.toISOString()}">${format.format(date)}</time>`;
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
  return html`<time datetime="${date.toISOString()}" title="${zonedText(date, 'dateAndTime')}">${text}</time>`;
}

/** The description of a device by describeUserAgent, such as "Firefox on Windows", in the current language. */
export function deviceName(described: string): string {
  const [, browser, system] = /^(.+) on (.+)$/.exec(described) ?? [];
  if (browser === undefined || system === undefined) return translated(described);
  return t('{browser} on {system}', { browser: translated(browser), system });
}
