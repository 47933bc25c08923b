import { type Html, html } from '@gatehouse/web/html';
import { tickList, untickedIn } from '@gatehouse/web/tick-list';
import type { Api } from '../../api/api.ts';
import { namesOfApplications, namesOfUsers } from '../../api/names.ts';
import { exactTime, time } from '../../pages/parts.ts';
import type { SentForm } from '../../resources/confirmed.ts';
import type { Resource, ResourceQuestion, Target } from '../../resources/resource.ts';
import type { ApiUser } from './user-list.ts';

/** Something that acts for a user, as the API lists it. */
type ApiAccess = {
  id: string;
  kind: keyof typeof KINDS;
  name: string | null;
  client_id: string | null;
  made_by?: string | null;
  can_be_kept: boolean;
  created_at: string | null;
  last_used_at: string | null;
};

/** The kinds, in the order of the page. */
const KINDS = {
  api_key: 'API keys',
  client_secret: 'Client secrets',
  public_keys: 'Public keys',
  federated_credential: 'Federated credentials',
  member: 'Members',
  registration_token: 'Registration tokens',
  trust: 'Trust in applications',
  deployer: 'Deployers',
  session: 'Sessions',
  login: 'Logins of programs',
  consent: 'Applications with access',
} as const;

/** Leads to the revocation of all access. People revoke their own in their account. */
export function accessSection(path: string, isSelf: boolean): Html {
  const page = isSelf ? '/account/applications/revoke-access' : `${path}/revoke-access`;
  return html`<section><h2>Access</h2>
<p>If somebody else may have got into the account, end everything that acts for it: sessions, keys, secrets and more.</p>
<p><a class="button danger" href="${page}">Revoke all access</a></p></section>`;
}

/** Which trust in applications ends with the admin who granted it; empty without any. */
export async function grantedTrust(
  api: Api,
  { id, username }: { id: string; username?: string | null },
): Promise<Html> {
  const { data } = await api.get<{ data: ApiAccess[] }>('/api/v1/access', { user_id: id });
  const trusted = data.flatMap(({ kind, client_id: client }) =>
    kind === 'trust' && client !== null ? [client] : [],
  );
  if (trusted.length === 0) return html``;
  const names = await namesOfApplications(api);
  return html`<p>The trust that <bdi>${username ?? id}</bdi> granted ends, and these applications act with the roles of their owners from then on. To prevent that, take the trust over first:</p>
<ul>${trusted.map((it) => html`<li><a href="/dashboard/applications/${it}/take-over-trust"><bdi>${names.get(it) ?? it}</bdi></a></li>`)}</ul>`;
}

/** The question before all access of a user is revoked, but for what is unticked. */
export const accessQuestions: NonNullable<Resource<ApiUser>['confirmed']> = {
  async 'revoke-access'({ visit, value, path }: Target<ApiUser>, sent?: SentForm): Promise<ResourceQuestion> {
    const { api } = visit;
    const id = visit.id('usr');
    const { data } = await api.get<{ data: ApiAccess[] }>('/api/v1/access', { user_id: id });
    const named = data.flatMap(({ kind, name, made_by: maker = null }) => [
      kind === 'member' ? name : null,
      maker,
    ]);
    const [applications, people] = await Promise.all([
      namesOfApplications(api, id),
      namesOfUsers(api, named),
    ]);
    const entryOf = (it: ApiAccess) => {
      const { name, client_id: client, made_by: maker = null, created_at: made, last_used_at: used } = it;
      const isCounted = it.kind === 'api_key' || it.kind === 'client_secret';
      const created = made !== null && html`created ${time(made)}`;
      // Two secrets without a name differ by the seconds.
      const isUnnamedSecret = it.kind === 'client_secret' && name === null;
      const names = [
        isUnnamedSecret && html`Client secret, created ${exactTime(made)}`,
        name !== null && html`<bdi>${people.get(name) ?? name}</bdi>`,
        client !== null && html`<bdi>${applications.get(client) ?? client}</bdi>`,
      ];
      const verb = it.kind === 'member' ? 'added' : 'made';
      const by = maker !== null && maker !== id && html`${verb} by <bdi>${people.get(maker) ?? maker}</bdi>`;
      const use = isCounted && (used === null ? 'never used' : html`last used ${time(used)}`);
      return { id: it.id, names, facts: [by, !isUnnamedSecret && created, use] };
    };
    const groups = Object.entries(KINDS).map(([kind, title]) => ({
      title,
      all: data.filter((it) => it.kind === kind),
    }));
    const kept = groups.map(({ title, all }) => ({
      title,
      entries: all.filter((it) => it.can_be_kept).map(entryOf),
    }));
    const unticked = sent === undefined ? [] : untickedIn(sent.fields.text);
    const counts = groups
      .map(({ title, all }) => ({ title, count: all.filter((it) => !it.can_be_kept).length }))
      .filter(({ count }) => count > 0);
    const name = value.username ?? value.id;
    return {
      title: `Revoke all access of ${name}?`,
      lost: html`<p>All sessions, logins, invitations, links and offers end, and so does the access of applications. The password, passkeys and connected accounts remain.</p>
<ul>${counts.map(({ title, count }) => html`<li>${title}: ${count}</li>`)}<li>Webhooks pause until ${name} resumes them</li></ul>`,
      fields: html`${data.some((it) => it.can_be_kept) && html`<p>Everything that is ticked ends, too. Remove the tick of a secret or key only if nobody else can know it, and that of a member only if ${name} confirms the membership.</p>`}${tickList(kept, unticked)}`,
      name,
      submit: 'Revoke all access',
      async act() {
        const except = data.filter((it) => it.can_be_kept && unticked.includes(it.id)).map((it) => it.id);
        await api.send('POST', `/api/v1/users/${encodeURIComponent(id)}/revocations`, { except });
        return `${path}?done=revoked`;
      },
    };
  },
};
