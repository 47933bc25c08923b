import { ago } from '@gatehouse/web/formatting';
import { type Html, html } from '@gatehouse/web/html';
import { language } from '@gatehouse/web/language';
import type { Question } from '../../../pages/account/confirmation-pages.ts';
import { t } from '../../../texts/texts.ts';
import type { OwnApplicationView } from './applications-page.ts';

/** Before all own applications lose what they can authenticate by. It asks for the username. */
export function endCredentialsQuestion(
  username: string,
  own: readonly Omit<OwnApplicationView, 'clientId'>[],
  back: string,
): Question {
  return {
    title: t('End all secrets and keys?'),
    lost: html`<p>${t('All client secrets, API keys and public keys of your applications stop working at once, and so do their access tokens. The applications remain, and you can add new secrets and keys.')}</p>
<ul>${own.map(lostOf)}</ul>`,
    name: username,
    submit: t('End all secrets and keys'),
    back,
  };
}

function lostOf({ name, secrets, keys, hasPublicKeys, lastUse }: Omit<OwnApplicationView, 'clientId'>): Html {
  const parts = [
    secrets.length > 0 && t('{count} client secrets', { count: secrets.length }),
    keys.length > 0 && t('{count} API keys', { count: keys.length }),
    hasPublicKeys && t('its public keys'),
  ].filter((part) => part !== false);
  const what = {
    name: html`<strong><bdi>${name}</bdi></strong>`,
    credentials: parts.length === 0 ? t('no secrets or keys') : language().formats.list.format(parts),
  };
  return html`<li>${lastUse === null ? t('{name}: {credentials}, never used', what) : t('{name}: {credentials}, last used {time}', { ...what, time: ago(lastUse.at) })}</li>`;
}

/** Before all sessions but the one of the page end. */
export function endOthersQuestion(
  others: { sessions: number; logins: number; lastUsedAt: Date | undefined },
  back: string,
): Question {
  const parts = [
    others.sessions > 0 && t('{count} sessions', { count: others.sessions }),
    others.logins > 0 && t('{count} logins', { count: others.logins }),
  ].filter((part) => part !== false);
  return {
    title: t('Sign out of all other sessions?'),
    lost: html`<p>${
      others.lastUsedAt === undefined
        ? t('There are no other sessions.')
        : t(
            'This ends {sessions} in other browsers and programs, last used {time}. Applications that you opened there will ask you to sign in again. You stay signed in here.',
            { sessions: language().formats.conjunction.format(parts), time: ago(others.lastUsedAt) },
          )
    }</p>`,
    submit: t('Sign out of all other sessions'),
    back,
  };
}
