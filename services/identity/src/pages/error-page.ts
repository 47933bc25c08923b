import { duration, named } from '@gatehouse/ui/formatting';
import { html } from '@gatehouse/ui/html';
import { standalonePage } from './document.ts';

export type ErrorPageKind =
  | 'expired_sign_in'
  | 'expired_form'
  | 'unknown_application'
  | 'bad_redirect_address'
  | 'bad_sign_out'
  | 'not_found'
  | 'too_many_attempts'
  | 'unavailable'
  | 'generic';

export type ErrorPageModel = {
  kind: ErrorPageKind;
  requestId: string;
  /** The name of the application, where it is known. */
  application?: string | undefined;
  /** Seconds to wait, for `too_many_attempts` and `unavailable`. */
  retryAfter?: number | undefined;
  /** For the application's developers: what is wrong with its request. Never a secret. */
  detail?: string | undefined;
  links?: { account?: string } | undefined;
};

type Texts = { title: string; what: string; next: string };

const ASK_THE_APPLICATION =
  'Go back to the application and try again. If it happens again, tell the people who run it.';

const TEXTS: Record<ErrorPageKind, Texts> = {
  expired_sign_in: {
    title: 'This sign-in has expired',
    what: 'It was open for too long, or it was finished in another tab. Nothing has been lost.',
    next: 'Go back to the application and sign in from there again.',
  },
  expired_form: {
    title: 'This page was out of date',
    what: 'To protect you, we did not accept what you sent: the page was open for too long, or cookies are switched off.',
    next: 'Go back, reload the page, and send the form again.',
  },
  unknown_application: {
    title: 'We do not know this application',
    what: 'The application that sent you here is not registered with us, or no longer is.',
    next: 'Close this page. If you trust the application, tell the people who run it.',
  },
  bad_redirect_address: {
    title: 'We stopped this sign-in',
    what: 'The application asked us to send you to an address that it has not registered. That may be a mistake, or somebody may be trying to deceive you.',
    next: 'Do not continue from the page that brought you here. If you trust the application, tell the people who run it.',
  },
  bad_sign_out: {
    title: 'We could not sign you out',
    what: 'The application sent a proof of your sign-in that we did not issue to it, or that has been altered. So we have not signed you out.',
    next: 'You can sign out in your account. If it happens again, tell the people who run the application.',
  },
  not_found: {
    title: 'There is no such page',
    what: 'The address may be mistyped, or the page is gone.',
    next: 'Check the address, or start again from where you came from.',
  },
  too_many_attempts: {
    title: 'Too many attempts',
    what: 'There have been too many attempts from your connection, so we are pausing for a while.',
    next: 'Please wait a little, then try again.',
  },
  unavailable: {
    title: 'Not possible right now',
    what: 'A part of our service is not answering. The fault is ours, not yours.',
    next: 'Please try again in a minute.',
  },
  generic: { title: 'This did not work', what: 'Something went wrong.', next: ASK_THE_APPLICATION },
};

export function errorPage(model: ErrorPageModel): string {
  const { title, what, next } = TEXTS[model.kind];
  const { application, retryAfter, detail, links } = model;
  return standalonePage({
    title,
    body: html`<h1>${title}</h1>
<p>${what}</p>
<h2>What to do next</h2>
<p>${retryAfter === undefined ? next : `Please wait ${duration(retryAfter)}, then try again.`}</p>
${links?.account !== undefined && html`<ul class="ways"><li><a href="${links.account}">Go to your account</a></li></ul>`}
<dl class="small-print">
${application !== undefined && html`<div><dt>Application</dt><dd>${named(application)}</dd></div>`}
${detail !== undefined && html`<div><dt>For its developers</dt><dd dir="auto">${detail}</dd></div>`}
<div><dt>Request</dt><dd><code>${model.requestId}</code></dd></div>
</dl>`,
  });
}
