import { ago } from '@gatehouse/web/formatting';
import { type Html, html } from '@gatehouse/web/html';
import type { Question } from '../../../pages/account/confirmation-pages.ts';
import type { OwnApplicationView } from './applications-page.ts';

/** Before all own applications lose what they can authenticate by. It asks for the username. */
export function endCredentialsQuestion(
  username: string,
  own: readonly Omit<OwnApplicationView, 'clientId'>[],
  back: string,
): Question {
  return {
    title: 'End all secrets and keys?',
    lost: html`<p>All client secrets, API keys and public keys of your applications stop working at once, and so do their access tokens. The applications remain, and you can add new secrets and keys.</p>
<ul>${own.map(lostOf)}</ul>`,
    name: username,
    submit: 'End all secrets and keys',
    back,
  };
}

function lostOf({ name, secrets, keys, hasPublicKeys, lastUse }: Omit<OwnApplicationView, 'clientId'>): Html {
  const parts = [
    secrets.length > 0 && count(secrets.length, 'client secret'),
    keys.length > 0 && count(keys.length, 'API key'),
    hasPublicKeys && 'its public keys',
  ].filter((part) => part !== false);
  return html`<li><strong><bdi>${name}</bdi></strong>: ${parts.length === 0 ? 'no secrets or keys' : parts.join(', ')}, ${lastUse === null ? 'never used' : html`last used ${ago(lastUse.at)}`}</li>`;
}

/** Before all sessions but the one of the page end. */
export function endOthersQuestion(
  others: { sessions: number; logins: number; lastUsedAt: Date | undefined },
  back: string,
): Question {
  const parts = [
    others.sessions > 0 && count(others.sessions, 'session'),
    others.logins > 0 && count(others.logins, 'login'),
  ].filter((part) => part !== false);
  return {
    title: 'Sign out of all other sessions?',
    lost: html`<p>${
      others.lastUsedAt === undefined
        ? 'There are no other sessions.'
        : html`This ends ${parts.join(' and ')} in other browsers and programs, last used ${ago(others.lastUsedAt)}. Applications that you opened there will ask you to sign in again. You stay signed in here.`
    }</p>`,
    submit: 'Sign out of all other sessions',
    back,
  };
}

function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}
