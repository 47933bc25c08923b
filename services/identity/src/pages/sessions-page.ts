import { form, type PageForm } from '@gatehouse/ui/form';
import { dateAndTime, hostname } from '@gatehouse/ui/formatting';
import { type Html, html } from '@gatehouse/ui/html';
import { describeProgram, describeUserAgent } from '@gatehouse/ui/user-agent';
import { type AccountFrame, accountDocument } from './account-document.ts';

export type SessionView = {
  /** The User-Agent header of the sign-in. */
  userAgent?: string | undefined;
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
  /** The User-Agent header of the program. */
  userAgent?: string | undefined;
  address: string;
  createdAt: Date;
  lastUsedAt: Date;
  end: PageForm;
};

export type SessionsModel = {
  frame: AccountFrame;
  sessions: readonly SessionView[];
  /** False when there are too many to list. */
  isComplete: boolean;
  logins: readonly LoginView[];
  /** Ends all of both kinds but the current session. */
  endOthers: PageForm;
  notice?: 'ended' | 'login_ended' | 'others_ended' | undefined;
};

const NOTICES = {
  ended: 'The session has ended.',
  login_ended: 'The login has ended.',
  others_ended: 'All other sessions and logins have ended.',
};

export function sessionsPage(model: SessionsModel): string {
  const { sessions, isComplete, logins } = model;
  const others = sessions.some(({ current }) => !current) || logins.length > 0;
  return accountDocument({
    title: 'Sessions',
    notice: model.notice && NOTICES[model.notice],
    frame: model.frame,
    current: 'sessions',
    body: html`<p>Where you are signed in. If you do not recognise one of these, end it, then change your password.</p>
<ul class="cards">${sessions.map(card)}</ul>
${!isComplete && html`<p>There are more than the ${sessions.length} listed here, which were used last.</p>`}
${
  logins.length > 0 &&
  html`<h2>Logins of programs</h2>
<p>Programs that sent your username and password to the API.</p>
<ul class="cards">${logins.map(loginCard)}</ul>`
}
${others && form(model.endOthers, html`<button class="danger">End all others</button>`, { class: 'after-cards' })}`,
  });
}

function loginCard(login: LoginView, index: number): Html {
  const id = `login-${index + 1}`;
  return html`<li class="card"><h3 id="${id}">${describeProgram(login.userAgent)}</h3>
<dl class="card-facts">
<div><dt>Address</dt><dd>${hostname(login.address)}</dd></div>
<div><dt>Logged in</dt><dd>${dateAndTime(login.createdAt)}</dd></div>
<div><dt>Last seen</dt><dd>${dateAndTime(login.lastUsedAt)}</dd></div>
</dl>
${form(login.end, html`<button class="secondary" aria-describedby="${id}">End login</button>`)}</li>`;
}

function card(session: SessionView, index: number): Html {
  const id = `session-${index + 1}`;
  return html`<li class="card"><h2 id="${id}">${describeUserAgent(session.userAgent)}${session.current && html` <span class="tag">This device</span>`}</h2>
<dl class="card-facts">
<div><dt>Address</dt><dd>${hostname(session.address)}</dd></div>
<div><dt>Signed in</dt><dd>${dateAndTime(session.signedInAt)}</dd></div>
<div><dt>Last seen</dt><dd>${dateAndTime(session.lastSeenAt)}</dd></div>
</dl>
${form(session.end, html`<button class="secondary" aria-describedby="${id}">${session.current ? 'Sign out here' : 'End session'}</button>`)}</li>`;
}
