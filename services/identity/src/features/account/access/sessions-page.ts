import { form, type PageForm } from '@gatehouse/web/form';
import { dateAndTime, deviceName, hostname } from '@gatehouse/web/formatting';
import { type Html, html } from '@gatehouse/web/html';
import { translated } from '@gatehouse/web/language';
import type { ListedSession } from '../../../core/sessions/program-sessions.ts';
import { type AccountFrame, accountDocument } from '../../../pages/account/account-document.ts';
import { type Text, t } from '../../../texts/texts.ts';
import { ACCOUNT_PAGES } from '../account-pages.ts';

/** A session in a browser, or a login at the API. */
export type SessionView = Pick<ListedSession, 'address' | 'createdAt' | 'lastUsedAt'> & {
  /** Whether it is the session in which the page is shown. */
  current: boolean;
  end: PageForm;
};

/** Sessions in browsers, or logins of programs, that claim to be of the same device or program. */
export type DeviceView = {
  /** As in "Firefox on Windows". */
  name: string;
  /** The one that the page is shown in comes first. */
  uses: readonly SessionView[];
  /** Ends them all, except the session that the page is shown in. */
  endAll: PageForm;
};

export type SessionsModel = {
  frame: AccountFrame;
  devices: readonly DeviceView[];
  /** False when there are too many to list. */
  isComplete: boolean;
  programs: readonly DeviceView[];
  /** The page that asks whether to end all of both kinds but the current session. */
  endOthers: string;
};

type Level = 'h2' | 'h3' | 'h4';
/** The names of sessions of a kind on the page. */
type Kind = {
  id: string;
  level: 'h2' | 'h3';
  since: Text;
  end: Text;
  several(count: number): string;
  endAll(count: number): string;
};

const SESSIONS: Kind = {
  id: 'device',
  level: 'h2',
  since: 'Signed in',
  end: 'End session',
  several: (count) => t('{count} sessions', { count }),
  endAll: (count) => t('End all {count} sessions', { count }),
};
const LOGINS: Kind = {
  id: 'login',
  level: 'h3',
  since: 'Logged in',
  end: 'End login',
  several: (count) => t('{count} logins', { count }),
  endAll: (count) => t('End all {count} logins', { count }),
};

export function sessionsPage(model: SessionsModel): string {
  const { devices, isComplete, programs } = model;
  const sessions = devices.flatMap(({ uses }) => uses);
  const others = sessions.some(({ current }) => !current) || programs.length > 0;
  return accountDocument({
    title: t('Sessions'),
    frame: model.frame,
    current: ACCOUNT_PAGES.sessions,
    body: html`<p>${t('These are the sessions of your account. If you do not recognise a session, end it, change your password, and look at your passkeys.')}</p>
${others && html`<p class="buttons"><a class="danger" href="${model.endOthers}">${t('Sign out of all other sessions')}</a></p>`}
${devices.map((device, index) => group(SESSIONS, device, index))}
${!isComplete && html`<p>${t('Only the {count} most recently used sessions are listed.', { count: sessions.length })}</p>`}
${
  programs.length > 0 &&
  html`<h2>${t('Logins of programs')}</h2>
<p>${t('These programs logged in at the API with your username and password.')}</p>
${programs.map((program, index) => group(LOGINS, program, index))}`
}
`,
  });
}

/** One use is a card by itself; several have a heading, and a button that ends them all. */
function group(kind: Kind, { name: described, uses, endAll }: DeviceView, index: number): Html {
  const { level } = kind;
  const name = deviceName(described);
  const id = `${kind.id}-${index + 1}`;
  const isHere = uses.some(({ current }) => current);
  const [only] = uses;
  if (only !== undefined && uses.length === 1)
    return html`<ul class="cards">${card(kind, only, { id, name, level })}</ul>`;
  const below = level === 'h2' ? 'h3' : 'h4';
  const cards = uses.map((use, number) =>
    card(kind, use, {
      id: `${id}-${number + 1}`,
      name: t('{name}, {number} of {count}', { name, number: number + 1, count: uses.length }),
      level: below,
    }),
  );
  const title = html`${name}: ${kind.several(uses.length)}`;
  return html`${heading(level, id, title)}
<ul class="cards">${cards}</ul>
${form(
  endAll,
  html`<button class="secondary" aria-describedby="${id}">${isHere ? t('End the other {count} sessions', { count: uses.length - 1 }) : kind.endAll(uses.length)}</button>`,
  { class: 'after-cards' },
)}`;
}

function heading(level: Level, id: string, content: Html): Html {
  if (level === 'h2') return html`<h2 id="${id}">${content}</h2>`;
  return level === 'h3' ? html`<h3 id="${id}">${content}</h3>` : html`<h4 id="${id}">${content}</h4>`;
}

function card(kind: Kind, use: SessionView, { id, name, level }: { id: string; name: string; level: Level }) {
  const { address = t('unknown'), createdAt, lastUsedAt, current, end } = use;
  return html`<li class="card">${heading(level, id, html`${name}${current && html` <span class="tag">${t('This device')}</span>`}`)}
<dl class="card-facts">
<div><dt>${t('Address')}</dt><dd>${hostname(address)}</dd></div>
<div><dt>${translated(kind.since)}</dt><dd>${dateAndTime(createdAt)}</dd></div>
<div><dt>${t('Last seen')}</dt><dd>${dateAndTime(lastUsedAt)}</dd></div>
</dl>
${form(end, html`<button class="secondary" aria-describedby="${id}">${current ? t('Sign out here') : translated(kind.end)}</button>`)}</li>`;
}
