import { createServer } from 'node:http';
import { listen } from '@gatehouse/testing/listen';
import { until } from '@gatehouse/testing/processes';
import { decodeJwt } from 'jose';
import t from 'tap';
import { build, PASSWORD, WEB } from '../../build.ts';
import { tokensFor } from '../../tokens.ts';

/** The servers of the APIs, which prove them by their metadata (RFC 9728). */
const server = createServer(({ url = '' }, response) => {
  const resource = origin + url.replace('/.well-known/oauth-protected-resource', '');
  const body = JSON.stringify({ resource, authorization_servers: [built.base] });
  response.writeHead(200, { 'content-type': 'application/json' }).end(body);
});
const origin = `http://127.0.0.1:${await listen(t, server)}`;
const built = await build(t, { config: { resourceNetworks: ['127.0.0.0/8'] } });
const { call, form } = built;
const logins = { admin: await built.login('admin'), ann: await built.login('ann') };
const redirect_uri = 'https://app.example.org/callback';

async function api(name: string, login: string) {
  const scopes = [{ name: 'notes:read', description: 'Read your notes' }];
  const draft = { identifier: `${origin}/${name}`, name, scopes };
  const { body } = await call('POST', '/api/v1/resources', login, draft);
  const client = await built.createApplication(login, { name, type: 'resource', scopes: [] });
  const authorization = `Basic ${btoa(`${client.client_id}:${client.client_secret}`)}`;
  const url = `${built.base}/api/v1/resources/${body.id}/revocations`;
  return {
    ...{ name, identifier: draft.identifier },
    async entries() {
      const response = await fetch(url, { headers: { authorization } });
      const { revocations } = (await response.json()) as { revocations: { kind: string; id: string }[] };
      return revocations.map(({ kind, id }) => `${kind} ${id}`).sort();
    },
  };
}
const apis = [await api('notes', logins.ann), await api('files', logins.admin)];
const clients = await Promise.all(
  Object.values(logins).map(async (login) => {
    const draft = { name: 'Web', type: 'web', redirect_uris: [redirect_uri], scopes: ['openid'] };
    return { ...(await built.createApplication(login, draft)), redirect_uri, login };
  }),
);
const people = new Map<string, string>();
for (const name of ['paula', 'piet']) people.set(name, await built.createPerson(name));

type Issued = {
  api: string | undefined;
  username: string;
  client: (typeof clients)[number];
  jti: string;
  gid: string;
} & {
  access: string;
  refresh: string;
};
const issued: Issued[] = [];
const ended = new Set<Issued>();
const expected = new Map(apis.map(({ name }) => [name, new Set<string>()]));
/** Deterministic, so that a failure comes again. */
let seed = 42;
function below(n: number): number {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((seed / 2_147_483_648) * n);
}
const one = <T>(of: readonly T[]): T => of[below(of.length)] as T;

/** A revocation concerns the APIs with tokens of which this holds. */
function expect(entry: string, concerns: (it: Issued) => boolean): void {
  for (const it of issued) if (it.api !== undefined && concerns(it)) expected.get(it.api)?.add(entry);
}

function end(concerns: (it: Issued) => boolean): void {
  for (const it of issued.filter(concerns)) ended.add(it);
}

async function issue(): Promise<void> {
  const [target, client, username] = [one([...apis, undefined]), one(clients), one([...people.keys()])];
  const more = target ? { scope: 'openid notes:read', resource: target.identifier } : { scope: 'openid' };
  const tokens = await tokensFor(built, { client, username, password: PASSWORD, more });
  const { jti, gid } = decodeJwt(tokens.access_token) as { jti: string; gid: string };
  const { access_token: access, refresh_token: refresh } = tokens;
  issued.push({ api: target?.name, username, client, jti, gid, access, refresh });
}

const revoke = ({ client: { client_id, client_secret } }: Issued, token: string) =>
  form({ token, client_id, client_secret: client_secret ?? '' }, {}, '/oauth2/revoke');
let role = 'user';
const steps: Record<string, () => Promise<void>> = {
  async token() {
    // A token that has ended already is not revoked once more.
    const alive = issued.filter((it) => !ended.has(it));
    if (alive.length === 0) return;
    const it = one(alive);
    await revoke(it, it.access);
    ended.add(it);
    expect(`token ${it.jti}`, ({ jti }) => jti === it.jti);
  },
  async grant() {
    const it = one(issued);
    await revoke(it, it.refresh);
    end(({ gid }) => gid === it.gid);
    expect(`grant ${it.gid}`, ({ gid }) => gid === it.gid);
  },
  async role() {
    const [username, id] = one([...people]);
    role = role === 'editor' ? 'user' : 'editor';
    await call('PUT', `/v2/users/${id}/role`, logins.admin, { role });
    expect(`subject ${id}`, (it) => it.username === username);
    end((it) => it.username === username);
  },
  async application() {
    const { client_id, login } = one(clients);
    await call('PATCH', `/api/v1/applications/${client_id}`, login, { name: `Web ${below(1e6)}` });
    expect(`client ${client_id}`, (it) => it.client.client_id === client_id);
  },
};

t.test('each API reads of its own tokens, and of nothing else', async (t) => {
  await tokensFor(built, { client: WEB, username: 'paula', more: { scope: 'openid' } });
  for (let i = 0; i < 4; i += 1) await issue();
  for (let i = 0; i < 24; i += 1) await (below(3) > 0 ? one(Object.values(steps)) : issue)();
  t.ok(
    [...expected.values()].every((it) => it.size > 3),
    'each has entries',
  );
  for (const { name, entries } of apis) {
    const wanted = [...(expected.get(name) ?? [])].sort();
    await until(async () => (await entries()).length >= wanted.length, 3000);
    t.same(await entries(), wanted, name);
  }
});
