import { alertBox, form, type PageForm } from '@gatehouse/web/form';
import { ago, dateAndTime } from '@gatehouse/web/formatting';
import { type Html, html } from '@gatehouse/web/html';
import type { SignInMessage } from '../../core/sessions/sign-in-method.ts';
import { type AccountFrame, accountDocument } from '../../pages/account/account-document.ts';
import type { Question } from '../../pages/account/confirmation-pages.ts';
import { t } from '../../texts/texts.ts';
import type { LinkedIdentity } from './linked-identity.ts';

/** Where people manage the accounts at providers by which they sign in. */
export const CONNECTED_ACCOUNTS = '/account/connected-accounts';

export type ConnectedAccountsModel = {
  frame: AccountFrame;
  providers: readonly {
    id: string;
    label: string;
    linked: Pick<LinkedIdentity, 'label' | 'createdAt' | 'lastUsedAt'> | undefined;
    /** Whether nothing else signs in to the account. */
    isOnlyWay: boolean;
    connect: PageForm;
  }[];
  problem?: SignInMessage | undefined;
};

export function connectedAccountsPage(model: ConnectedAccountsModel): string {
  const { frame, providers, problem } = model;
  return accountDocument({
    title: t('Connected accounts'),
    failed: problem !== undefined,
    frame,
    current: CONNECTED_ACCOUNTS,
    body: html`<p>${t('You can sign in here with the accounts that you have elsewhere, once you have connected them.')}</p>
${problem && alertBox(problem.title, html`<p>${problem.advice}</p>`)}
<ul class="cards">${providers.map(card)}</ul>`,
  });
}

function card({ id, label, linked, isOnlyWay, connect }: ConnectedAccountsModel['providers'][number]): Html {
  if (linked === undefined) {
    return html`<li class="card"><h2>${label}</h2>
<p>${t('Not connected')}</p>
${form(connect, html`<div class="buttons"><button class="secondary">${t('Connect')}<span class="visually-hidden"> ${label}</span></button></div>`)}</li>`;
  }
  return html`<li class="card"><h2>${label}</h2>
<dl class="card-facts">
<div><dt>${t('Account')}</dt><dd><bdi>${linked.label}</bdi></dd></div>
<div><dt>${t('Connected')}</dt><dd>${dateAndTime(linked.createdAt)}</dd></div>
<div><dt>${t('Last used')}</dt><dd>${linked.lastUsedAt === null ? t('Never') : dateAndTime(linked.lastUsedAt)}</dd></div>
</dl>
${isOnlyWay ? html`<p>${t('Nothing else signs you in to your account. Set a password or add a passkey before you disconnect it.')}</p>` : html`<p class="buttons"><a class="danger" href="${CONNECTED_ACCOUNTS}/${id}/disconnect">${t('Disconnect')}<span class="visually-hidden"> ${label}</span></a></p>`}</li>`;
}

/** Before an account is disconnected. */
export function disconnectQuestion(
  provider: string,
  { label: name, lastUsedAt }: Pick<LinkedIdentity, 'label' | 'lastUsedAt'>,
): Question {
  const account = html`<strong><bdi>${name}</bdi></strong>`;
  return {
    title: t('Disconnect {provider}?', { provider }),
    lost: html`<p>${lastUsedAt === null ? t('The {provider} account {account}, never used, no longer signs you in. Sessions that began with it end, except this one. Your other ways to sign in stay.', { provider, account }) : t('The {provider} account {account}, last used {time}, no longer signs you in. Sessions that began with it end, except this one. Your other ways to sign in stay.', { provider, account, time: ago(lastUsedAt) })}</p>
<p>${t('Your account at {provider} stays as it is.', { provider })}</p>`,
    submit: t('Disconnect'),
    back: CONNECTED_ACCOUNTS,
  };
}
