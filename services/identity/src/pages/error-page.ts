import { duration } from '@gatehouse/web/formatting';
import { type Html, html } from '@gatehouse/web/html';
import { translated } from '@gatehouse/web/language';
import { type Text, t } from '../texts/texts.ts';
import { standalonePage } from './document.ts';

export type ErrorPageKind =
  | 'expired_sign_in'
  | 'expired_form'
  | 'unknown_application'
  | 'bad_redirect_address'
  | 'bad_sign_out'
  | 'bad_sign_out_address'
  | 'not_found'
  | 'too_many_attempts'
  | 'unavailable'
  | 'generic';

export type ErrorPageModel = {
  kind: ErrorPageKind;
  requestId: string;
  /** Seconds to wait, for `too_many_attempts` and `unavailable`. */
  retryAfter?: number | undefined;
  /** For the application's developers: what is wrong with its request. Never a secret. */
  detail?: string | undefined;
  /** The redirect URI or post-logout redirect URI that was received, and those that are registered, which are no secret. */
  redirectUris?: { received: string; registered: readonly string[] } | undefined;
  links?: { account?: string } | undefined;
};

type Texts = { title: Text; what: Text; next: Text };

const ASK_THE_APPLICATION =
  'Go back to the application and try again. If the error happens again, report it to the people who run the application.';

const TEXTS: Record<ErrorPageKind, Texts> = {
  expired_sign_in: {
    title: 'This sign-in has expired',
    what: 'The sign-in page was open for too long, or you finished the sign-in in another tab.',
    next: 'Go back to the application and sign in again.',
  },
  expired_form: {
    title: 'This page has expired',
    what: 'The form was not accepted, because the page was open for too long or your browser blocks cookies.',
    next: 'Go back, reload the page, and send the form again.',
  },
  unknown_application: {
    title: 'Unknown application',
    what: 'The application that sent you here is not registered, or its registration was deleted.',
    next: 'Close this page. If you trust the application, report the error to the people who run it.',
  },
  bad_redirect_address: {
    title: 'We stopped this sign-in',
    what: 'The application asked us to send you to an address that it has not registered. This may be a mistake, or somebody may be trying to deceive you.',
    next: 'Do not go back to the page that sent you here. If you trust the application, report the error to the people who run it.',
  },
  bad_sign_out: {
    title: 'We could not sign you out',
    what: 'The application sent a proof of your sign-in that was issued to another application or was altered. You are still signed in.',
    next: 'You can sign out in your account. If the error happens again, report it to the people who run the application.',
  },
  bad_sign_out_address: {
    title: 'We could not sign you out',
    what: 'The application asked us to send you to an address that it has not registered for people who sign out. You are still signed in.',
    next: 'You can sign out in your account. If you trust the application, report the error to the people who run it.',
  },
  not_found: {
    title: 'Page not found',
    what: 'The address may be mistyped, or the page was removed.',
    next: 'Check the address, or go back to the previous page.',
  },
  too_many_attempts: {
    title: 'Too many attempts',
    what: 'There were too many attempts from your network. Further attempts are blocked for a while.',
    next: 'Please wait a few minutes, then try again.',
  },
  unavailable: {
    title: 'Temporarily unavailable',
    what: 'A part of our service is not responding. The fault is ours, not yours.',
    next: 'Please try again in a minute.',
  },
  generic: {
    title: 'Something went wrong',
    what: 'The request could not be completed.',
    next: ASK_THE_APPLICATION,
  },
};

export function errorPage(model: ErrorPageModel): string {
  const { title, what, next } = TEXTS[model.kind];
  const { retryAfter, detail, redirectUris, links } = model;
  return standalonePage({
    title: translated(title),
    body: html`<p>${translated(what)}</p>
<h2>${t('What to do next')}</h2>
<p>${retryAfter === undefined ? translated(next) : t('Please wait {time}, then try again.', { time: duration(retryAfter) })}</p>
${links?.account !== undefined && html`<ul class="ways"><li><a href="${links.account}">${t('Go to your account')}</a></li></ul>`}
<dl class="small-print">
${detail !== undefined && html`<div><dt>${t('For its developers')}</dt><dd dir="auto">${detail}${redirectUris && redirectUriDetails(redirectUris)}</dd></div>`}
<div><dt>${t('Request')}</dt><dd><code>${model.requestId}</code></dd></div>
</dl>`,
  });
}

function redirectUriDetails({ received, registered }: NonNullable<ErrorPageModel['redirectUris']>): Html {
  const list = (uris: readonly string[]) =>
    html`<ul>${uris.map((uri) => html`<li><code dir="ltr">${uri}</code></li>`)}</ul>`;
  return html`<details><summary>${t('Redirect URIs')}</summary><p>${t('Received:')}</p>${list([received])}${registered.length === 0 ? html`<p>${t('None is registered.')}</p>` : html`<p>${t('Registered:')}</p>${list(registered)}`}</details>`;
}
