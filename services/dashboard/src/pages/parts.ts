import { DELETED_USER_ID } from '@gatehouse/core/ids';
import { ago, moment } from '@gatehouse/web/formatting';
import { type Content, type Html, html } from '@gatehouse/web/html';
import type { ApiError } from '../api/api-error.ts';
import type { LastUse } from '../api/application-types.ts';
import { type Names, OUR_CLIENTS } from '../api/names.ts';

const GOOD = new Set([
  'active',
  'ok',
  'sent',
  'succeeded',
  'delivered',
  'completed',
  'confirmed',
  'shipped',
  'current',
  'accepted',
  'working',
  'connected',
  'done',
]);
const BAD = new Set(['stopped', 'failed', 'failing', 'error', 'rejected', 'refunded']);
const QUIET = new Set([
  'inactive',
  'off',
  'cancelled',
  'expired',
  'unconfigured',
  'previous',
  'retired',
  'paused',
  'disconnected',
  'skipped',
]);

/** The entry of a table for a key that was sent, which may be the name of something that every object has. */
export function entryOf<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** A text that begins a sentence. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A state in one word. */
export function statusTag(status: string): Html {
  const look = GOOD.has(status)
    ? ' is-good'
    : BAD.has(status)
      ? ' is-bad'
      : QUIET.has(status)
        ? ' is-quiet'
        : '';
  return html`<span class="status${look}">${status}</span>`;
}

/** The looks of the classes of HTTP statuses, by their first digits. */
const STATUS_LOOKS: Readonly<Record<string, string>> = {
  2: 'is-good',
  3: 'is-quiet',
  4: 'is-warning',
  5: 'is-bad',
};

/** An HTTP status, or a class of them such as 4xx. */
export function httpStatusTag(status: string | number): Html {
  const look = STATUS_LOOKS[String(status).charAt(0)] ?? 'is-quiet';
  return html`<span class="status ${look}">${status}</span>`;
}

/** A time that the API gave; a dash for none. */
export function time(iso: string | null | undefined, none: Content = '–'): Content {
  return timeBy('minute', iso, none);
}

/** The same with seconds, for logs. */
export function exactTime(iso: string | null | undefined, none: Content = '–'): Content {
  return timeBy('second', iso, none);
}

function timeBy(precision: 'minute' | 'second', iso: string | null | undefined, none: Content): Content {
  const date = new Date(iso ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? none : moment(date, precision);
}

const NUMBER = new Intl.NumberFormat('en-GB');

/** A whole number, in groups of three digits. */
export function number(value: number): string {
  return NUMBER.format(value);
}

/** How much of a limit is used. */
export function limitMeter(name: string, value: number, limit: number): Html {
  return html`<meter min="0" max="${limit}" high="${limit * 0.8}" optimum="0" value="${value}" aria-label="${`Share of the limit of ${name}`}"></meter> ${number(value)} of ${number(limit)}`;
}

/** An amount of money with the decimals of its currency. */
export function money(amount: number, currency: string): string {
  try {
    return new Intl.NumberFormat('en-GB', { style: 'currency', currency }).format(amount);
  } catch {
    return `${amount} ${currency}`;
  }
}

/** When something was used last, and from where. */
export function lastUsed({ last_used_at: at, last_used_address: address }: LastUse, none = 'never'): Content {
  return html`${time(at, none)}${address !== null && html` <span class="hint">from ${address}</span>`}`;
}

/** The same in a sentence: "last used 3 minutes ago". */
export function lastUseText({ last_used_at: at }: LastUse): Html {
  return at === null ? html`never used` : html`last used ${ago(new Date(at))}`;
}

/** A text to be copied, such as an id. The id of its element must be unique on the page. */
export function copyable(id: string, text: string): Html {
  return html`<span class="copyable"><code id="${id}" dir="ltr">${text}</code>${copyButton(id)}</span>`;
}

/** A text that is shown only once, such as a secret, with what to do next. */
export function shownOnce(it: { title: string; shown: Content; next: Content; more?: Content }): Html {
  return html`<section class="panel new-secret" role="status"><h2>${it.title}</h2>${it.shown}<p>It is shown only once. ${it.next}</p>${it.more}</section>`;
}

/** Some lines of code. */
export function codeBlock(id: string, code: Content): Html {
  return html`<div class="code-block"><pre id="${id}" tabindex="0"><code>${code}</code></pre>${copyButton(id)}</div>`;
}

function copyButton(id: string): Html {
  return html`<button type="button" class="copy" data-copy="${id}" aria-describedby="${id}" hidden>Copy</button>`;
}

/** Names and values, one below the other; without those that have no value. */
export function facts(entries: readonly (readonly [name: string, value: Content])[]): Html {
  const given = entries.filter(([, value]) => value !== false && value !== null && value !== undefined);
  return html`<dl class="facts">${given.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/**
 * In the place of what could not be had: says so, why, and what to do. `again` is the page to load again; `otherwise` says how
 * to ask for something else, where what was asked for may be what is refused or missing.
 */
export function notAvailable(
  subject: string,
  error: ApiError,
  { again, otherwise = false }: { again?: string; otherwise?: Content } = {},
): Html {
  return html`<div class="unavailable" role="status"><p><strong>${subject} cannot be shown.</strong> ${failureReason(error, again, otherwise)}</p></div>`;
}

function failureReason(error: ApiError, again: string | undefined, otherwise: Content): Content {
  if (error.status === 404 && otherwise === false) {
    return html`This deployment does not have this part of the API. ${again !== undefined && html`<a href="/dashboard">Go to the overview</a>.`}`;
  }
  if (error.isUnavailable || error.status === 429) {
    return html`${error.message} ${again === undefined ? 'Try again' : html`<a href="${again}">Try again</a>`} in a moment.`;
  }
  return html`${error.message} ${otherwise}`;
}

/** A part of a page, which is loaded again every few seconds where there are any. Its id must be unique on the page. */
export function refreshed(
  { id, path, seconds, stack }: { id: string; path: string; seconds?: number | undefined; stack?: boolean },
  content: Html,
): Html {
  return html`<div id="${id}"${stack && html` class="stack"`}${seconds !== undefined && html` hx-get="${path}" hx-select="#${id}" hx-swap="outerHTML" hx-trigger="every ${seconds}s"`}>${content}</div>`;
}

/** Links to the parts of one thing. */
export function tabs(
  label: string,
  current: string,
  entries: readonly (readonly [href: string, title: string])[],
): Html {
  return html`<nav class="tabs" aria-label="${label}">${entries.map(
    ([href, title]) => html`<a href="${href}"${href === current && html` aria-current="page"`}>${title}</a>`,
  )}</nav>`;
}

/** Links to what can be chosen or done, each with a sentence about it. */
export function choiceLinks(
  entries: readonly { href: string; title: string; text: string; hint?: string }[],
): Html {
  return html`<ul class="choices">${entries.map(
    ({ href, title, text, hint }) =>
      html`<li><a class="choice" href="${href}"><strong>${title}</strong><span>${text}</span>${hint !== undefined && html`<span class="hint">${hint}</span>`}</a></li>`,
  )}</ul>`;
}

/** A link to a person, by name if it is known; somebody whose account is deleted has no page. */
export function userLink(id: string, names: Names): Html {
  if (id === DELETED_USER_ID) return html`deleted account`;
  const name = names.get(id);
  const text = name === undefined ? shortId(id) : html`<bdi>${name}</bdi>`;
  if (names.isUnlinked) return html`<span title="${id}">${text}</span>`;
  return html`<a href="/dashboard/users/${encodeURIComponent(id)}" title="${id}">${text}</a>`;
}

/** A link to an application, or a further page of it, by name if it is known; parts of Gatehouse itself have no page. */
export function applicationLink(id: string, names: ReadonlyMap<string, string>, part = ''): Content {
  const name = names.get(id);
  if (name === undefined && !id.startsWith('app_')) return OUR_CLIENTS[id] ?? html`<code>${id}</code>`;
  return html`<a href="/dashboard/applications/${encodeURIComponent(id)}${part}" title="${id}">${name === undefined ? shortId(id) : html`<bdi>${name}</bdi>`}</a>`;
}

/** The end of an id, by which it differs from others of the same time. */
function shortId(id: string): Html {
  return html`<code>…${id.slice(-8)}</code>`;
}
