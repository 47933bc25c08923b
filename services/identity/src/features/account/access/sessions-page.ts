import { form, type PageForm } from '@gatehouse/web/form';
import { dateAndTime, hostname } from '@gatehouse/web/formatting';
import { type Html, html } from '@gatehouse/web/html';
import { type AccountFrame, accountDocument } from '../account-document.ts';

export type SessionView = {
  /** The IP address. */
  address: string;
  signedInAt: Date;
  lastSeenAt: Date;
  /** Whether it is the session in which the page is shown. */
  current: boolean;
  end: PageForm;
};

/** A login at the API. */
export type LoginView = {
  address: string;
  createdAt: Date;
  lastUsedAt: Date;
  end: PageForm;
};

/** Sessions in browsers, or logins of programs, that claim to be of the same device or program. */
export type DeviceView<T> = {
  /** As in "Firefox on Windows". */
  name: string;
  /** The one that the page is shown in comes first. */
  uses: readonly T[];
  /** Ends them all, except the session that the page is shown in. */
  endAll: PageForm;
};

export type SessionsModel = {
  frame: AccountFrame;
  devices: readonly DeviceView<SessionView>[];
  /** False when there are too many to list. */
  isComplete: boolean;
  programs: readonly DeviceView<LoginView>[];
  /** The page that asks whether to end all of both kinds but the current session. */
  endOthers: string;
  notice?: 'ended' | 'device_ended' | 'login_ended' | 'program_ended' | 'others_ended' | undefined;
};

const NOTICES = {
  ended: 'The session has ended.',
  device_ended: 'The sessions have ended.',
  login_ended: 'The login has ended.',
  program_ended: 'The logins have ended.',
  others_ended: 'All other sessions and logins have ended.',
};

export function sessionsPage(model: SessionsModel): string {
  const { devices, isComplete, programs } = model;
  const sessions = devices.flatMap(({ uses }) => uses);
  const others = sessions.some(({ current }) => !current) || programs.length > 0;
  return accountDocument({
    title: 'Sessions',
    notice: model.notice && NOTICES[model.notice],
    frame: model.frame,
    current: 'sessions',
    body: html`<p>These are the sessions of your account. If you do not recognise a session, end it, then change your password.</p>
${others && html`<p class="buttons"><a class="danger" href="${model.endOthers}">Sign out of all other sessions</a></p>`}
${devices.map((device, index) => {
  const isHere = device.uses.some(({ current }) => current);
  return group(device, {
    id: `device-${index + 1}`,
    level: 'h2',
    several: 'sessions',
    isHere,
    card: sessionCard,
  });
})}
${!isComplete && html`<p>Only the ${sessions.length} most recently used sessions are listed.</p>`}
${
  programs.length > 0 &&
  html`<h2>Logins of programs</h2>
<p>These programs logged in at the API with your username and password.</p>
${programs.map((program, index) =>
  group(program, {
    id: `login-${index + 1}`,
    level: 'h3',
    several: 'logins',
    isHere: false,
    card: loginCard,
  }),
)}`
}
`,
  });
}

type Card<T> = (use: T, heading: { id: string; name: string; level: 'h2' | 'h3' | 'h4' }) => Html;

/** One use is a card by itself; several have a heading, and a button that ends them all. */
function group<T>(
  { name, uses, endAll }: DeviceView<T>,
  about: { id: string; level: 'h2' | 'h3'; several: 'sessions' | 'logins'; isHere: boolean; card: Card<T> },
): Html {
  const { id, level, several, isHere, card } = about;
  const [only] = uses;
  if (only !== undefined && uses.length === 1)
    return html`<ul class="cards"><li class="card">${card(only, { id, name, level })}</li></ul>`;
  const below = level === 'h2' ? 'h3' : 'h4';
  const cards = uses.map((use, index) => {
    const heading = {
      id: `${id}-${index + 1}`,
      name: `${name}, ${index + 1} of ${uses.length}`,
      level: below,
    } as const;
    return html`<li class="card">${card(use, heading)}</li>`;
  });
  const title = html`${name}: ${uses.length} ${several}`;
  return html`${heading(level, id, title)}
<ul class="cards">${cards}</ul>
${form(
  endAll,
  html`<button class="secondary" aria-describedby="${id}">${isHere ? html`End the other ${uses.length === 2 ? 'session' : `${uses.length - 1} ${several}`}` : html`End all ${uses.length} ${several}`}</button>`,
  { class: 'after-cards' },
)}`;
}

function heading(level: 'h2' | 'h3' | 'h4', id: string, content: Html): Html {
  if (level === 'h2') return html`<h2 id="${id}">${content}</h2>`;
  return level === 'h3' ? html`<h3 id="${id}">${content}</h3>` : html`<h4 id="${id}">${content}</h4>`;
}

const loginCard: Card<LoginView> = (login, { id, name, level }) =>
  html`${heading(level, id, html`${name}`)}
<dl class="card-facts">
<div><dt>Address</dt><dd>${hostname(login.address)}</dd></div>
<div><dt>Logged in</dt><dd>${dateAndTime(login.createdAt)}</dd></div>
<div><dt>Last seen</dt><dd>${dateAndTime(login.lastUsedAt)}</dd></div>
</dl>
${form(login.end, html`<button class="secondary" aria-describedby="${id}">End login</button>`)}`;

const sessionCard: Card<SessionView> = (session, { id, name, level }) =>
  html`${heading(level, id, html`${name}${session.current && html` <span class="tag">This device</span>`}`)}
<dl class="card-facts">
<div><dt>Address</dt><dd>${hostname(session.address)}</dd></div>
<div><dt>Signed in</dt><dd>${dateAndTime(session.signedInAt)}</dd></div>
<div><dt>Last seen</dt><dd>${dateAndTime(session.lastSeenAt)}</dd></div>
</dl>
${form(session.end, html`<button class="secondary" aria-describedby="${id}">${session.current ? 'Sign out here' : 'End session'}</button>`)}`;
