import { alertBox, form, type PageForm } from '@gatehouse/web/form';
import { ago, dateAndTime } from '@gatehouse/web/formatting';
import { type Html, html } from '@gatehouse/web/html';
import type { SignInMessage } from '../../core/sessions/sign-in-method.ts';
import { type AccountFrame, accountDocument } from '../../pages/account/account-document.ts';
import type { Question } from '../../pages/account/confirmation-pages.ts';
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
    title: 'Connected accounts',
    failed: problem !== undefined,
    frame,
    current: CONNECTED_ACCOUNTS,
    body: html`<p>You can sign in here with the accounts that you have elsewhere, once you have connected them.</p>
${problem && alertBox(problem.title, html`<p>${problem.advice}</p>`)}
<ul class="cards">${providers.map(card)}</ul>`,
  });
}

function card({ id, label, linked, isOnlyWay, connect }: ConnectedAccountsModel['providers'][number]): Html {
  if (linked === undefined) {
    return html`<li class="card"><h2>${label}</h2>
<p>Not connected</p>
${form(connect, html`<div class="buttons"><button class="secondary">Connect<span class="visually-hidden"> ${label}</span></button></div>`)}</li>`;
  }
  return html`<li class="card"><h2>${label}</h2>
<dl class="card-facts">
<div><dt>Account</dt><dd><bdi>${linked.label}</bdi></dd></div>
<div><dt>Connected</dt><dd>${dateAndTime(linked.createdAt)}</dd></div>
<div><dt>Last used</dt><dd>${linked.lastUsedAt === null ? 'Never' : dateAndTime(linked.lastUsedAt)}</dd></div>
</dl>
${isOnlyWay ? html`<p>Nothing else signs you in to your account. Set a password or add a passkey before you disconnect it.</p>` : html`<p class="buttons"><a class="danger" href="${CONNECTED_ACCOUNTS}/${id}/disconnect">Disconnect<span class="visually-hidden"> ${label}</span></a></p>`}</li>`;
}

/** Before an account is disconnected. */
export function disconnectQuestion(
  label: string,
  { label: account, lastUsedAt }: Pick<LinkedIdentity, 'label' | 'lastUsedAt'>,
): Question {
  return {
    title: `Disconnect ${label}?`,
    lost: html`<p>The ${label} account <strong><bdi>${account}</bdi></strong>, ${lastUsedAt === null ? 'never used' : html`last used ${ago(lastUsedAt)}`}, no longer signs you in. Your sessions stay, and so do your other ways to sign in.</p>
<p>Your account at ${label} stays as it is.</p>`,
    submit: 'Disconnect',
    back: CONNECTED_ACCOUNTS,
  };
}
