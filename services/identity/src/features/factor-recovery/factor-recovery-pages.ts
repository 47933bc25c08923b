import { form, type PageForm } from '@gatehouse/web/form';
import { dateAndTime, duration, named } from '@gatehouse/web/formatting';
import { type Content, html } from '@gatehouse/web/html';
import type { Question } from '../../pages/account/confirmation-pages.ts';
import { standalonePage } from '../../pages/document.ts';
import { t } from '../../texts/texts.ts';

export type LostFactorsModel = {
  form: PageForm;
  username: string;
  waitHours: number;
  state:
    | { kind: 'none' | 'no_address' }
    /** `readyAt`: when the last mail comes. */
    | { kind: 'under_way'; readyAt: Date }
    | { kind: 'ready' };
  links: { back: string };
};

/** For somebody who has entered the password and has nothing else. */
export function lostFactorsPage({
  form: target,
  username,
  waitHours,
  state,
  links,
}: LostFactorsModel): string {
  const button = (text: string) =>
    form(target, html`<div class="buttons"><button class="primary">${text}</button></div>`);
  const account = named(username);

  function content(): Content {
    switch (state.kind) {
      case 'no_address':
        return html`<p>${t('The account {username} has no confirmed email address. Ask an admin to help you to sign in.', { username: account })}</p>`;
      case 'under_way':
        return html`<p class="notice" role="status">${t('We send a link to the email address of the account on {time}.', { time: dateAndTime(state.readyAt) })}</p>
<p>${t('The link removes the authenticator app and the recovery codes. If you find a code or a passkey before, sign in with it: nothing is removed then.')}</p>`;
      case 'ready':
        return html`<p>${t('We have sent a link to the email address of the account. It removes the authenticator app and the recovery codes.')}</p>
${button(t('Send the link again'))}`;
      case 'none':
        return html`<p>${t('If you have neither your authenticator app nor a recovery code nor a passkey, we can remove the app and the codes from the account {username}. Your password alone signs you in then.', { username: account })}</p>
<p>${t('So that nobody else can do it, it takes {time}. We send a mail to the address of the account at once, another one before the time is over, and at the end a link. Each sign-in with a code or a passkey stops it.', { time: duration(waitHours * 3600) })}</p>
${button(t('Send the first mail'))}`;
    }
  }
  return standalonePage({
    title: t('Lost your app and your recovery codes?'),
    body: html`${content()}
<ul class="ways"><li><a href="${links.back}">${t('Enter a code')}</a></li></ul>`,
  });
}

/** Before the second factors are removed. */
export function removeFactorsQuestion(username: string): Question {
  return {
    title: t('Remove the app and the recovery codes?'),
    lost: html`<p>${t('The authenticator app of the account {username} is no longer asked for, and its recovery codes stop working: the password alone signs in. Then set up the app again in your account, on the page “Security”.', { username: named(username) })}</p>`,
    submit: t('Remove them'),
    back: '/account',
  };
}

/** The page for the link that stops it, which asks to press a button, as programs that scan mail follow links. */
export function stopRecoveryPage(model: { form: PageForm; username: string }): string {
  return standalonePage({
    title: t('Stop the recovery?'),
    body: html`<p>${t('Somebody who knows the password of the account {username} wants its authenticator app and its recovery codes removed. If it was not you, stop it, and change your password.', { username: named(model.username) })}</p>
${form(model.form, html`<div class="buttons"><button class="primary">${t('Stop it')}</button></div>`)}`,
  });
}

export function recoveryOutcomePage(outcome: 'stopped' | 'removed' | 'invalid'): string {
  const [title, text] = {
    stopped: [
      t('The recovery is stopped'),
      t(
        'The authenticator app and the recovery codes stay. If it was not you who asked, somebody else knows your password: change it now.',
      ),
    ],
    removed: [
      t('The app and the codes are removed'),
      t('Your password alone signs you in. Set up an authenticator app again soon.'),
    ],
    invalid: [
      t('This link no longer works'),
      t(
        'The link has been used, has expired, or the recovery has ended: by a sign-in with a code or a passkey, a new password, or another email address.',
      ),
    ],
  }[outcome] as [string, string];
  return standalonePage({
    title,
    body: html`<p>${text}</p>
<p class="buttons"><a class="primary" href="/account">${t('Sign in')}</a></p>`,
  });
}
