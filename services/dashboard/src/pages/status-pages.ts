import { gatePage, PRODUCT } from '@gatehouse/ui/document';
import { form } from '@gatehouse/ui/form';
import { duration } from '@gatehouse/ui/formatting';
import { type Content, html } from '@gatehouse/ui/html';
import type { ApiError } from '../api/api-error.ts';
import type { SentFields } from '../http/forms.ts';
import { HEAD } from './assets.ts';
import type { View } from './view.ts';

const HOME = { href: '/dashboard', title: 'Go to the overview' };

function gate(title: string, body: Content, link: { href: string; title: string }): string {
  return gatePage(
    {
      title,
      body: html`<h1>${title}</h1>
${body}
<div class="buttons"><a class="primary" href="${link.href}">${link.title}</a></div>`,
    },
    HEAD,
  );
}

export function signedOutPage(): string {
  return gate('You are signed out', html`<p>You have left the dashboard of ${PRODUCT}.</p>`, {
    href: '/dashboard/sign-in',
    title: 'Sign in again',
  });
}

/** The session ended while a form was being filled in. */
export function sessionEndedPage(): string {
  return gate(
    'Your session has ended',
    html`<p>What you sent was not done. Sign in again, and then send it once more.</p>`,
    { href: '/dashboard/sign-in', title: 'Sign in' },
  );
}

/**
 * The same, with what was sent, to send it again. `returnTo` is the page to go on to after signing in; whoever has signed in
 * again already is `person`, and `csrf` the token of their session.
 */
export function sendAgainPage(it: {
  action: string;
  sent: SentFields;
  returnTo: string;
  csrf: string;
  person: string | undefined;
}): string {
  const { action, sent, person, csrf } = it;
  const fields = sent.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);
  const signIn = `/dashboard/sign-in?${new URLSearchParams({ to: it.returnTo })}`;
  const isBack = person !== undefined;
  const title = isBack ? 'You have signed in again' : 'Your session has ended';
  const kept = 'It is kept on this page, except for passwords and secrets.';
  const body = isBack
    ? html`<p>What you sent was not done, because the form was opened before that. ${kept} You are signed in as <bdi>${person}</bdi>.</p>`
    : html`<p>What you sent was not done. ${kept} Sign in, which opens another tab; then come back to this one and send it again.</p>`;
  return gatePage(
    {
      title,
      body: html`<h1>${title}</h1>
${body}
<div class="buttons">${!isBack && html`<a class="primary" href="${signIn}" target="_blank">Sign in</a>`}${form({ action, csrf }, [fields, html`<button class="${isBack ? 'primary' : 'secondary'}">Send it again</button>`])}</div>`,
    },
    HEAD,
  );
}

export function signInFailedPage(): string {
  return gate(
    'You are not signed in',
    html`<p>The sign-in was cancelled, took too long, or was begun in another tab.</p>`,
    { href: '/dashboard/sign-in', title: 'Sign in' },
  );
}

/** Before anybody is known: something is wrong or missing. */
export function errorPage(error: { status: number; message: string }, requestId: string): string {
  if (error.status === 404) {
    return gate(
      'There is no such page',
      html`<p>The address may be mistyped, or the page is gone.</p>`,
      HOME,
    );
  }
  const title = error.status === 503 ? 'The dashboard is not available just now' : 'Something went wrong';
  return gate(title, html`<p>${error.message}</p><p class="small-print">Request ${requestId}</p>`, HOME);
}

/** What the API's refusal of a page comes to, inside the navigation. */
export function refusalView(error: ApiError, requestId: string): View {
  const { title, text } = refusalTexts(error);
  return {
    title,
    status: error.isUnavailable ? 503 : error.status,
    body: html`<p>${text}</p><p><a href="/dashboard">Go to the overview</a></p><p class="small-print">Request ${requestId}</p>`,
  };
}

function refusalTexts(error: ApiError): { title: string; text: string } {
  const { status, message, retryAfter } = error;
  if (status === 404) {
    return {
      title: 'There is nothing here',
      text: 'It does not exist, has been deleted, or belongs to somebody else.',
    };
  }
  if (status === 403) return { title: 'You have no access to this', text: message };
  if (status === 429) {
    const wait = retryAfter === undefined ? 'a moment' : duration(retryAfter);
    return { title: 'Too many requests', text: `Wait ${wait}, then load this page again.` };
  }
  if (error.isUnavailable) return { title: 'This is not available just now', text: message };
  return { title: 'That is not possible', text: message };
}
