import { centeredPage, PRODUCT } from '@gatehouse/web/document';
import { form } from '@gatehouse/web/form';
import { duration } from '@gatehouse/web/formatting';
import { type Content, html } from '@gatehouse/web/html';
import type { ApiError } from '../api/api-error.ts';
import type { SentFields } from '../http/forms.ts';
import { HEAD } from './assets.ts';
import type { View } from './view.ts';

const HOME = { href: '/dashboard', title: 'Go to the overview' };

function linkPage(title: string, body: Content, link: { href: string; title: string }): string {
  return centeredPage(
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
  return linkPage('You are signed out', html`<p>You have signed out of the ${PRODUCT} dashboard.</p>`, {
    href: '/dashboard/sign-in',
    title: 'Sign in again',
  });
}

/** The session ended while a form was being filled in. */
export function sessionEndedPage(): string {
  return linkPage(
    'Your session has ended',
    html`<p>Your change was not saved. Sign in and submit the form again.</p>`,
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
  const kept = 'This page keeps your entries, except for passwords and secrets.';
  const body = isBack
    ? html`<p>Your change was not saved, because you opened the form in an earlier session. ${kept} You are signed in as <bdi>${person}</bdi>.</p>`
    : html`<p>Your change was not saved. ${kept} Sign in in the tab that opens, then come back to this one and submit the form again.</p>`;
  return centeredPage(
    {
      title,
      body: html`<h1>${title}</h1>
${body}
<div class="buttons">${!isBack && html`<a class="primary" href="${signIn}" target="_blank">Sign in</a>`}${form({ action, csrf }, [fields, html`<button class="${isBack ? 'primary' : 'secondary'}">Submit again</button>`])}</div>`,
    },
    HEAD,
  );
}

export function signInFailedPage(): string {
  return linkPage(
    'You are not signed in',
    html`<p>The sign-in was cancelled, took too long, or was started in another tab.</p>`,
    { href: '/dashboard/sign-in', title: 'Sign in' },
  );
}

/** Before anybody is known: something is wrong or missing. */
export function errorPage(error: { status: number; message: string }, requestId: string): string {
  if (error.status === 404) {
    return linkPage(
      'Page not found',
      html`<p>The address may be mistyped, or the page was removed.</p>`,
      HOME,
    );
  }
  const title = error.status === 503 ? 'The dashboard is temporarily unavailable' : 'Something went wrong';
  return linkPage(title, html`<p>${error.message}</p><p class="small-print">Request ${requestId}</p>`, HOME);
}

/** The page of an error of the API, inside the navigation. */
export function errorView(error: ApiError, requestId: string): View {
  const { title, text } = errorTexts(error);
  return {
    title,
    status: error.isUnavailable ? 503 : error.status,
    body: html`<p>${text}</p><p><a href="/dashboard">Go to the overview</a></p><p class="small-print">Request ${requestId}</p>`,
  };
}

function errorTexts(error: ApiError): { title: string; text: string } {
  const { status, message, retryAfter } = error;
  if (status === 404) {
    return {
      title: 'Page not found',
      text: 'The object does not exist, was deleted, or belongs to another user.',
    };
  }
  if (status === 403) return { title: 'Access denied', text: message };
  if (status === 429) {
    const wait = retryAfter === undefined ? 'a moment' : duration(retryAfter);
    return { title: 'Too many requests', text: `Wait ${wait}, then load this page again.` };
  }
  if (error.isUnavailable) return { title: 'Temporarily unavailable', text: message };
  return { title: 'Request refused', text: message };
}
