import { type Content, type Html, html } from '@gatehouse/web/html';
import type { Outcome } from '../../api/attempt.ts';
import { copyable, exactTime, notAvailable, shownOnce, time } from '../../pages/parts.ts';
import { type Column, table } from '../../pages/table.ts';
import type { Resource, ResourceQuestion, Target } from '../../resources/resource.ts';
import { notFound, type Visit } from '../../routes/visit.ts';
import type { ApiUser } from './user-list.ts';

/** A passkey or an authenticator app of a user, as the API lists it. */
export type ApiFactor = {
  id: string;
  type: 'passkey' | 'authenticator_app';
  name: string | null;
  created_at: string;
  last_used_at: string | null;
  recovery_codes_left?: number;
};
export type FactorList = { data: readonly ApiFactor[]; email_verified: boolean };
/** A link that was just created, which is shown once. */
export type SetUpLink = { url: string; expires_at: string };

const FACTORS = '/api/v1/factors';
const nameOf = ({ id, username }: ApiUser) => username ?? id;
const titleOf = ({ type, name }: ApiFactor): Content =>
  type === 'passkey' ? html`Passkey <bdi>${name}</bdi>` : 'Authenticator app';
const labelOf = ({ type, name }: ApiFactor) => (type === 'passkey' ? `passkey ${name}` : 'authenticator app');

/** The sign-in methods of an account as an admin sees them, and the ways to help a person who has lost theirs. */
export function factorSection(
  outcome: Outcome<FactorList>,
  { user, path, isSelf }: { user: ApiUser; path: string; isSelf: boolean },
): Html {
  if (outcome.error !== undefined) {
    return html`<section><h2>Passkeys and authenticator app</h2>${notAvailable('Passkeys', outcome.error, { again: path })}</section>`;
  }
  const { data } = outcome.value;
  const columns: Column<ApiFactor>[] = [
    { title: 'Kind', show: titleOf },
    { title: 'Added', show: ({ created_at: at }) => time(at) },
    { title: 'Last used', show: ({ last_used_at: at }) => exactTime(at, 'never') },
    { title: 'Recovery codes left', show: ({ recovery_codes_left: left }) => left ?? '–' },
    ...(isSelf
      ? []
      : [
          {
            title: 'Remove',
            show: (factor: ApiFactor) =>
              html`<a class="button danger" href="${path}/factors/${encodeURIComponent(factor.id)}/remove" aria-label="${`Remove the ${labelOf(factor)}`}">Remove</a>`,
          },
        ]),
  ];
  return html`<section><h2>Passkeys and authenticator app</h2>
${data.length === 0 ? html`<p class="hint">This user has neither a passkey nor an authenticator app.</p>` : table(columns, data)}
${isSelf ? html`<p>Manage your own on the page <a href="/account/security">Security</a> of your account.</p>` : recoveryLinks(user, path)}</section>`;
}

/** The way back for somebody who can neither sign in nor get mails. */
function recoveryLinks({ status }: ApiUser, path: string): Content {
  if (status !== 'active') return false;
  return html`<div class="row-buttons"><a class="button secondary" href="${path}/set-up-link">Create a set-up link</a></div>`;
}

/** A link that has just been created. */
export function newLink({ url, expires_at: expiresAt }: SetUpLink): Html {
  return shownOnce({
    title: 'Copy the set-up link now',
    shown: copyable('set-up-link', url),
    next: html`Give it to the person in a way by which nobody else gets it. It works once, until ${exactTime(expiresAt)}.`,
  });
}

/** The factors of the user whose page it is. */
export const factorsPath = (visit: Visit, id = '') =>
  `${FACTORS}${id && `/${encodeURIComponent(id)}`}?${new URLSearchParams({ user_id: visit.id('usr') })}`;

/** The questions before a factor is removed, and before a link is sent or created. */
export const factorQuestions: NonNullable<Resource<ApiUser>['confirmed']> = {
  async 'factors/:factor/remove'({ visit, value, path }: Target<ApiUser>): Promise<ResourceQuestion> {
    const { data } = await visit.api.get<FactorList>(factorsPath(visit));
    const factor = data.find(({ id }) => id === visit.param('factor'));
    if (factor === undefined) throw notFound();
    const isApp = factor.type === 'authenticator_app';
    return {
      title: `Remove the ${labelOf(factor)}?`,
      lost: html`<p>${titleOf(factor)} of ${nameOf(value)}, added ${time(factor.created_at)}, last used ${exactTime(factor.last_used_at, 'never')}.</p>
<p>${isApp ? `Its ${factor.recovery_codes_left} recovery codes stop working as well, and the password alone signs in.` : 'It no longer signs in, and the sessions that began with it end. Without another passkey or a password, the person needs a link from you, or asks for a new password by mail.'} The person gets a mail. Make sure that it is the owner of the account who asks for it.</p>`,
      submit: 'Remove',
      async act() {
        await visit.api.send('DELETE', factorsPath(visit, factor.id));
        return `${path}?done=factor_removed`;
      },
    };
  },
  'password-reset': ({ visit, value, path }: Target<ApiUser>): ResourceQuestion => ({
    title: `Send ${nameOf(value)} a link to choose a new password?`,
    lost: html`<p>The link is mailed to <strong><bdi>${value.email}</bdi></strong>, as if the person had asked for it on the sign-in page. You do not see it. It works once, for 30 minutes, in place of an earlier one.</p>
<p>The current password keeps working until the link is used. Then all other sessions of the account end; passkeys and the authenticator app stay.</p>`,
    submit: 'Send the link',
    async act() {
      await visit.api.send('POST', '/api/v1/password-resets', { user_id: value.id });
      return `${path}?done=reset_sent`;
    },
  }),
  'set-up-link': ({ visit, value, path }: Target<ApiUser>): ResourceQuestion => ({
    title: `Create a set-up link for ${nameOf(value)}?`,
    lost: html`<p>Whoever opens the link chooses a new password for the account. Its passkeys, its connected accounts, its authenticator app with the recovery codes, and all its sessions end then. Until somebody opens it, nothing changes.</p>
<p>The link works once, for 24 hours, and replaces an earlier link. The person is told by mail that a link was created; the mail does not contain it. Verify who is asking: the link alone is enough to get into the account.</p>`,
    submit: 'Create the link',
    async act() {
      const link = await visit.api.send<SetUpLink>('POST', `${FACTORS}/set-up-links`, {
        user_id: visit.id('usr'),
      });
      await visit.putFlash(path, JSON.stringify(link));
      return path;
    },
  }),
};
