import { ago, day } from '@gatehouse/web/formatting';
import { type Html, html } from '@gatehouse/web/html';
import { language, translated } from '@gatehouse/web/language';
import { tickList } from '@gatehouse/web/tick-list';
import type { Account } from '../../../core/accounts/account.ts';
import type { listAccess } from '../../../core/authority/standing-access.ts';
import type { Question } from '../../../pages/account/confirmation-pages.ts';
import { type Text, t } from '../../../texts/texts.ts';
import { REVOKE_ACCESS } from '../account-pages.ts';
import { type OwnApplicationView, used } from './applications-page.ts';

/** Before all own applications lose what they can authenticate by. It asks for the username. */
export function endCredentialsQuestion(
  { username, role }: Pick<Account, 'username' | 'role'>,
  own: readonly Omit<OwnApplicationView, 'clientId'>[],
  back: string,
): Question {
  return {
    title: t('End all secrets and keys?'),
    lost: html`<p>${t('All client secrets, federated credentials, API keys and public keys of your applications stop working at once, and so do their access tokens. The applications remain, and you can add new secrets and keys.')}</p>
<p>${t('Their members, your registration tokens, invitations, links and offers, the logins of your programs and what you made in applications of others end, too. Your webhooks are paused. Your sessions remain, and so does the access of applications that you have allowed.')}</p>
<p>${t('If somebody else may be in your account, choose {revoke} instead: it ends those as well.', { revoke: html`<a href="${REVOKE_ACCESS}">${t('Revoke all access')}</a>` })}</p>
${role === 'admin' && html`<p>${t('The trust in applications that you have granted ends, too.')}</p>`}
<ul>${own.map(lostOf)}</ul>`,
    name: username,
    submit: t('End all secrets and keys'),
    back,
  };
}

function lostOf({ name, lastUse, ...its }: Omit<OwnApplicationView, 'clientId'>): Html {
  const { secrets, keys, hasPublicKeys, federated } = its;
  const parts = [
    secrets.length > 0 && t('{count} client secrets', { count: secrets.length }),
    keys.length > 0 && t('{count} API keys', { count: keys.length }),
    federated.length > 0 && t('{count} federated credentials', { count: federated.length }),
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

/** The kinds of access that the page names, in its order. */
const NAMED_KINDS = [
  ['api_key', 'API keys'],
  ['client_secret', 'Client secrets'],
  ['public_keys', 'Public keys'],
  ['federated_credential', 'Federated credentials'],
  ['member', 'Members'],
  ['registration_token', 'Registration tokens'],
  ['trust', 'Trust in applications'],
  ['deployer', 'Deployers'],
] as const satisfies [string, Text][];

type Access = Awaited<ReturnType<typeof listAccess>>[number];

/** Before everything that acts for a person ends, but for the entries that they untick. `names` of people are by their ids. */
export function revokeAccessQuestion(options: {
  account: Pick<Account, 'id' | 'username'>;
  access: readonly Access[];
  names: ReadonlyMap<string, string>;
  kept: readonly string[];
  back: string;
}): Question {
  const { account, access, names, kept, back } = options;
  const count = (kind: Access['kind']) => access.filter((it) => it.kind === kind).length;
  const [sessions, logins, consents] = [count('session'), count('login'), count('consent')];
  const parts = [
    t('{count} sessions', { count: sessions }),
    logins > 0 && t('{count} logins', { count: logins }),
    consents > 0 && t('{count} applications with access', { count: consents }),
  ].filter((part) => part !== false);
  const named = (it: string | null | undefined) => it != null && html`<bdi>${names.get(it) ?? it}</bdi>`;
  const entryOf = ({ id, kind, name, clientName, madeBy, createdAt, lastUsedAt }: Access) => {
    const isCounted = ['api_key', 'client_secret', 'federated_credential'].includes(kind);
    const use = isCounted && used(lastUsedAt && { at: lastUsedAt, address: null });
    const made = createdAt !== null && t('created on {date}', { date: day(createdAt) });
    const isOfOther = isCounted && madeBy !== undefined && madeBy !== account.id;
    const maker = isOfOther && t('made by {name}', { name: named(madeBy) });
    return {
      id,
      names: [named(name), clientName !== undefined && html`<bdi>${clientName}</bdi>`],
      facts: [made, maker, use],
    };
  };
  const groups = NAMED_KINDS.map(([kind, title]) => ({
    title: translated(title),
    entries: access.filter((it) => it.canBeKept && it.kind === kind).map(entryOf),
  }));
  const elsewhere = NAMED_KINDS.flatMap(([kind, title]) =>
    access
      .filter((it) => !it.canBeKept && it.kind === kind)
      .map((it) => ({ title: translated(title), ...entryOf(it) })),
  );
  return {
    title: t('Revoke all access?'),
    lost: html`<p>${t('This ends {access}, and all invitations, links and offers of yours. Your webhooks are paused. You are signed out everywhere. Your password, your passkeys and your connected accounts remain.', { access: language().formats.conjunction.format(parts) })}</p>
${elsewhere.length > 0 && html`<p>${t('What you made in applications of others ends, too:')}</p><ul>${elsewhere.map(({ title, names: [name, application] }) => html`<li>${title}: ${name !== false && html`${name}, `}${application}</li>`)}</ul>`}`,
    fields: html`${access.some((it) => it.canBeKept) && html`<p>${t('Everything that is ticked ends, too. Remove a tick only if nobody else can know that secret or key.')}</p>`}${tickList(groups, kept)}`,
    name: account.username,
    submit: t('Revoke all access'),
    back,
  };
}
