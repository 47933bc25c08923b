import { html } from '@gatehouse/web/html';
import { standalonePage } from '../../pages/document.ts';
import { t } from '../../texts/texts.ts';

/** For an invitation that has expired, was accepted or was revoked. */
export function invitationInvalidPage(): string {
  return standalonePage({
    title: t('This invitation no longer works'),
    body: html`<p>${t('It has expired, was used before, or was withdrawn. Ask the people who invited you for another one.')}</p>
<ul class="ways"><li>${t('Already have an account?')} <a href="/account">${t('Sign in')}</a></li></ul>`,
  });
}

/** After an account was created. */
export function invitationAcceptedPage(model: { username: string; isConfirmed: boolean }): string {
  const username = html`<strong><bdi>${model.username}</bdi></strong>`;
  return standalonePage({
    title: t('Your account is ready'),
    body: html`<p>${model.isConfirmed ? t('Your username is {username}. Your email address is confirmed.', { username }) : t('Your username is {username}. The email address of the invitation belongs to another account.', { username })}</p>
<p class="buttons"><a class="primary" href="/account">${t('Sign in')}</a></p>`,
  });
}
