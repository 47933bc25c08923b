import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing/processes';
import { decodeJwt } from 'jose';
import t from 'tap';
import { build, MACHINE, PASSWORD, WEB } from '../../build.ts';
import { refresh, tokensFor } from '../../tokens.ts';

const built = await build(t, { checkResponses: true });
const { call, form, base } = built;
const PATH = '/api/v1/resources';
const [admin, ann] = [await built.login('admin'), await built.login('ann')];

type Entry = { kind: string; id: string; epoch?: number; until: number };
type Page = { revocations: Entry[]; as_of: string; more: boolean };

/** A registered API of ann's, which her applications get tokens for, and the application of its server. */
async function api(name: string, login = ann) {
  const identifier = `https://${name}.example.com/api`;
  const scopes = [{ name: 'notes:read', description: 'Read your notes' }];
  const { status, body } = await call('POST', PATH, login, { identifier, name, scopes });
  if (status !== 201) throw new Error(JSON.stringify(body));
  const server = await built.createApplication(login, {
    name: `${name} server`,
    type: 'resource',
    scopes: [],
  });
  const basic = `Basic ${btoa(`${server.client_id}:${server.client_secret}`)}`;
  const url = `${base}${PATH}/${body.id}/revocations`;
  const read = async (after?: string, authorization = basic) => {
    const query = after === undefined ? '' : `?after=${encodeURIComponent(after)}`;
    const response = await fetch(url + query, { headers: { authorization } });
    return { status: response.status, ...((await response.json()) as Page) };
  };
  const idsOf = async () => (await read()).revocations.map(({ kind, id }) => `${kind} ${id}`).sort();
  return { id: String(body.id), identifier, server, basic, url, read, idsOf };
}
type Api = Awaited<ReturnType<typeof api>>;

const [notes, files] = [await api('notes'), await api('files')];
const ANNS = { name: 'Web of ann', type: 'web', scopes: ['openid', 'read:profile'] };
const redirect_uri = 'https://ann.example.org/callback';
const web = {
  ...(await built.createApplication(ann, { ...ANNS, redirect_uris: [redirect_uri] })),
  redirect_uri,
};
const machine = await built.createApplication(ann, { name: 'Robot', type: 'machine', scopes: ['read:data'] });

const tokensAt = ({ identifier }: Api, username = 'ann', password = PASSWORD) =>
  tokensFor(built, {
    ...{ client: web, username, password },
    more: { scope: 'openid notes:read', resource: identifier },
  });
const machineToken = async ({ identifier }: Api, client = machine) => {
  const { body } = await form({ grant_type: 'client_credentials', ...client, resource: identifier });
  return String(body.access_token);
};
const revoke = (token: string, client: object = web) =>
  form({ token, ...(client as Record<string, string>) }, {}, '/oauth2/revoke');

t.test('the server of an API finds it by its identifier', async (t) => {
  const find = async (authorization: string, identifier = notes.identifier) => {
    const query = `?identifier=${encodeURIComponent(identifier)}`;
    const response = await fetch(base + PATH + query, { headers: { authorization } });
    const { data } = (await response.json()) as { data?: { id: string }[] };
    return [response.status, data?.map(({ id }) => id)];
  };
  t.same(await find(notes.basic), [200, [notes.id]]);
  t.same(await find(notes.basic, 'https://other.example.com/'), [200, []]);
  const others = await api('others', admin);
  t.same(await find(others.basic), [200, []], 'of another owner');
  const application = `/api/v1/applications/${others.server.client_id}`;
  await until(async () => (await call('GET', application, admin)).body.last_used_at !== null, 2000);
  const { body } = await form({ grant_type: 'client_credentials', ...notes.server });
  t.match([body.scope, decodeJwt(String(body.access_token)).aud], ['revocations:read', `${base}/api`]);
  t.same(await find(`Bearer ${body.access_token}`), [200, [notes.id]]);
  t.equal((await notes.read(undefined, `Bearer ${body.access_token}`)).status, 200);
  for (const scope of ['read:data', 'revocations:read read:users', 'notes:read']) {
    const { status } = await form({ grant_type: 'client_credentials', ...notes.server, scope });
    t.equal(status, 400, scope);
  }
});

t.test('the feed is for the servers of its owner', async (t) => {
  const { body } = await form({ grant_type: 'client_credentials', ...notes.server });
  const wrong = `Basic ${btoa(`${notes.server.client_id}:wrong`)}`;
  const ofWeb = `Basic ${btoa(`${web.client_id}:${web.client_secret}`)}`;
  const others = await api('elsewhere', admin);
  for (const [who, authorization, status] of [
    ['nobody', '', 401],
    ['a wrong secret', wrong, 401],
    ['an unknown client', `Basic ${btoa('app_none:secret')}`, 401],
    ['no secret', `Basic ${btoa(notes.server.client_id)}`, 401],
    ['a malformed token', 'Bearer nonsense', 401],
    ['a token of the API itself', `Bearer ${await machineToken(notes)}`, 401],
    ['an application that signs people in', ofWeb, 403],
    ['its owner', `Bearer ${ann}`, 403],
    ['an admin', `Bearer ${admin}`, 403],
    ['a machine', `Bearer ${await built.machineToken(MACHINE)}`, 403],
    ['the server of another owner', others.basic, 404],
    ['a server', `Bearer ${body.access_token}`, 200],
  ] as const) {
    t.equal((await notes.read(undefined, authorization)).status, status, who);
  }
  for (const [method, path] of [
    ['POST', PATH],
    ['GET', `${PATH}/${notes.id}`],
    ['PATCH', `${PATH}/${notes.id}`],
    ['DELETE', `${PATH}/${notes.id}`],
  ] as const) {
    const response = await fetch(base + path, { method, headers: { authorization: notes.basic } });
    t.equal(response.status, 401, `${method} ${path} by HTTP Basic`);
    t.equal((await call(method, path, String(body.access_token))).status, 403, `${method} ${path} by token`);
  }
});

t.test('each API reads what concerns its own tokens', async (t) => {
  const [atNotes, atFiles] = [await tokensAt(notes), await tokensAt(files)];
  const jti = (token: string) => `token ${decodeJwt(token).jti}`;
  t.same([await notes.idsOf(), await files.idsOf()], [[], []]);
  t.equal((await revoke(atNotes.access_token)).status, 200);
  await until(async () => (await notes.idsOf()).includes(jti(atNotes.access_token)), 2000);
  t.same(await files.idsOf(), [], 'a token of another API');

  const grant = `grant ${decodeJwt(atFiles.access_token).gid}`;
  t.equal((await revoke(atFiles.refresh_token)).status, 200);
  await until(async () => (await files.idsOf()).includes(grant), 2000);
  t.notOk((await notes.idsOf()).includes(grant), 'a grant of another API');

  const other = await tokensFor(built, { client: WEB });
  t.equal((await revoke(other.refresh_token, WEB)).status, 200);
  const ofOurs = await tokensFor(built, { client: web, more: { scope: 'openid read:profile' } });
  t.equal((await revoke(ofOurs.access_token)).status, 200);
  await sleep(300);
  const all = [...(await notes.idsOf()), ...(await files.idsOf())];
  t.notOk(all.includes(`grant ${decodeJwt(other.access_token).gid}`), 'of our API');
  t.notOk(all.includes(jti(ofOurs.access_token)), 'of our API');
});

t.test('a machine, its application and its owner', async (t) => {
  const own = await api('machines');
  const robot = await built.createApplication(ann, { name: 'Old', type: 'machine', scopes: ['read:data'] });
  const { owner, gid } = decodeJwt(await machineToken(own, robot));
  t.same([owner, gid], [built.people.ann.id, undefined]);
  t.equal((await call('DELETE', `/api/v1/applications/${robot.client_id}`, ann)).status, 204);
  await until(async () => (await own.idsOf()).includes(`client ${robot.client_id}`), 2000);
  const entry = (await own.read()).revocations.find(({ kind }) => kind === 'client');
  t.ok(Number(entry?.epoch) > 0 && Number(entry?.until) > Date.now() / 1000);
});

t.test('`after` is exclusive', async (t) => {
  const own = await api('pages');
  const [a, b] = [await machineToken(own), await machineToken(own)];
  await revoke(a, machine);
  await until(async () => (await own.idsOf()).length === 1, 2000);
  const first = await own.read();
  t.same((await own.read(first.as_of)).revocations, []);
  await revoke(b, machine);
  await until(async () => (await own.idsOf()).length === 2, 2000);
  const second = await own.read(first.as_of);
  t.same(
    second.revocations.map(({ id }) => id),
    [decodeJwt(b).jti],
  );
  t.same((await own.read(second.as_of)).revocations, []);
  t.equal((await own.read('nonsense')).revocations.length, 2);
});

/** Reads a stream; `blocks` are its events and heartbeats, as they came. */
async function listen({ url, basic }: Pick<Api, 'url' | 'basic'>, lastEventId?: string) {
  const abort = new AbortController();
  const response = await fetch(url, {
    signal: abort.signal,
    headers: {
      authorization: basic,
      accept: 'text/event-stream',
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    },
  });
  const blocks: { at: number; id: string; entry?: Entry }[] = [];
  const ended = (async () => {
    let text = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const parts = text.split('\n\n');
      text = parts.pop() ?? '';
      for (const part of parts) {
        const [, id = ''] = /^id: (.*)$/m.exec(part) ?? [];
        const [, data] = /^data: (.*)$/m.exec(part) ?? [];
        if (id !== '')
          blocks.push({ at: performance.now(), id, ...(data && { entry: JSON.parse(data) as Entry }) });
      }
    }
  })().catch(() => {});
  return {
    response,
    blocks,
    ended,
    close: () => abort.abort(),
    has: (kind: string, id: unknown) =>
      blocks.some(({ entry }) => entry?.kind === kind && entry.id === String(id)),
  };
}

t.test('a stream sends each revocation within a second, and a heartbeat every two', async (t) => {
  const own = await api('stream');
  const [first, second] = [await tokensAt(own), await tokensAt(own)];
  await revoke(first.access_token);
  await until(async () => (await own.idsOf()).length === 1, 2000);
  const stream = await listen(own);
  t.teardown(stream.close);
  t.equal(stream.response.headers.get('content-type'), 'text/event-stream');
  await until(() => stream.blocks.length >= 2, 2000);
  t.match(stream.blocks[0]?.entry, { kind: 'token', id: decodeJwt(first.access_token).jti });
  t.equal(stream.blocks[1]?.entry, undefined, 'the heartbeat after what was in force');
  const begun = performance.now();
  await revoke(second.refresh_token);
  await until(() => stream.has('grant', decodeJwt(second.access_token).gid), 2000);
  t.ok(performance.now() - begun < 1000);
  await until(() => stream.blocks.filter(({ entry }) => entry === undefined).length >= 3, 6000);

  const position = stream.blocks.at(-1)?.id ?? '';
  const again = await listen(own, position);
  t.teardown(again.close);
  await until(() => again.blocks.some(({ entry }) => entry === undefined), 2000);
  t.ok(again.blocks.length <= stream.blocks.length);
  const late = await tokensAt(own);
  await revoke(late.access_token);
  await until(() => again.has('token', decodeJwt(late.access_token).jti), 2000);
  t.ok(stream.has('token', decodeJwt(late.access_token).jti), 'both hear of it');
});

t.test("a member's secret reads the APIs that list the application", async (t) => {
  const [listed, other] = [await api('listed'), await api('unlisted')];
  const path = `/api/v1/applications/${listed.server.client_id}`;
  await built.createPerson('dev');
  const dev = await built.login('dev');
  await call('POST', `${path}/members`, ann, { user: 'dev', role: 'developer' });
  await call('POST', `/api/v1/memberships/${listed.server.client_id}/accept`, dev);
  const made = (await call('POST', `${path}/secrets`, dev, { label: 'of a member' })).body;
  const ofMember = { client_id: listed.server.client_id, client_secret: String(made.client_secret) };
  const applications = [listed.server.client_id, machine.client_id];
  t.equal((await call('PATCH', `${PATH}/${listed.id}`, ann, { applications })).status, 200);
  const { body } = await form({ grant_type: 'client_credentials', ...ofMember });
  for (const authorization of [
    `Basic ${btoa(`${ofMember.client_id}:${ofMember.client_secret}`)}`,
    `Bearer ${body.access_token}`,
  ]) {
    t.equal((await listed.read(undefined, authorization)).status, 200);
    t.equal((await other.read(undefined, authorization)).status, 404);
    const list = await fetch(base + PATH, { headers: { authorization } });
    const { data } = (await list.json()) as { data: Entry[] };
    t.same(
      data.map(({ id }) => id),
      [listed.id],
    );
  }
  const active = async (of: Api) => {
    const token = await machineToken(of);
    return (await form({ token, ...ofMember }, {}, '/oauth2/introspect')).body.active;
  };
  t.same([await active(listed), await active(other)], [true, false], 'introspection');
});

t.test('a stream ends with the application that reads it', async (t) => {
  const own = await api('ending');
  const stream = await listen(own);
  await until(() => stream.blocks.length > 0, 2000);
  t.equal((await call('DELETE', `/api/v1/applications/${own.server.client_id}`, ann)).status, 204);
  await stream.ended;
  t.equal((await own.read()).status, 401);
});

t.test('what ends the access of a person ends it at APIs', async (t) => {
  const username = 'petra';
  const id = await built.createPerson(username);
  const own = await api('person');
  const stream = await listen(own);
  t.teardown(stream.close);
  const attempts = [
    async () => call('PUT', `/v2/users/${id}/role`, admin, { role: 'editor' }),
    async () => call('DELETE', `/v2/users/${id}`, admin),
  ];
  for (const end of attempts) {
    const { access_token } = await tokensAt(own, username);
    const before = stream.blocks.length;
    const { status } = await end();
    t.ok(status < 300, String(status));
    const { epoch } = decodeJwt(access_token) as { epoch?: { subject: number } };
    await until(
      () =>
        stream.blocks
          .slice(before)
          .some(({ entry }) => entry?.id === id && Number(entry.epoch ?? 1e9) > Number(epoch?.subject)),
      2000,
    );
  }
  t.equal(
    (await files.idsOf()).filter((it) => it.includes(id)).length,
    0,
    'an API without tokens of the person',
  );
});

t.test('an API key for an API works there, and nowhere else', async (t) => {
  const own = await api('keys');
  const keys = `/api/v1/applications/${machine.client_id}/api-keys`;
  const draft = { name: 'Notes', scopes: ['notes:read'], resource: own.identifier };
  for (const [what, changes, field] of [
    ['a scope of Gatehouse', { scopes: ['read:data'] }, 'scopes'],
    ['an unknown API', { resource: 'https://unknown.example.com/' }, 'resource'],
    ['no API', { resource: '' }, 'resource'],
    ['a scope of an API without it', { resource: undefined }, 'scopes'],
  ] as const) {
    const { status, body } = await call('POST', keys, ann, { ...draft, ...changes });
    t.match([status, JSON.stringify(body)], [400, new RegExp(`"field":"${field}"`)], what);
  }
  const foreign = `/api/v1/applications/${WEB.client_id}/api-keys`;
  t.equal((await call('POST', foreign, admin, draft)).status, 400, 'an application that it does not list');
  const { status, body } = await call('POST', keys, ann, draft);
  t.match([status, body], [201, { scopes: ['notes:read'], resource: own.identifier }]);
  const key = String(body.api_key);
  const introspect = async (server = own.server) =>
    (await form({ token: key, ...server }, {}, '/oauth2/introspect')).body;
  const active = await introspect();
  t.match(active, {
    ...{ active: true, scope: 'notes:read', client_id: machine.client_id, sub: machine.client_id },
    ...{ aud: own.identifier, jti: body.id, owner: built.people.ann.id },
  });
  const others = await api('keys-elsewhere', admin);
  t.same(await introspect(others.server), { active: false }, 'another owner');
  for (const scheme of ['Bearer', 'ApiKey']) {
    for (const path of ['/api/v1/auth/permissions', '/v1/users/x']) {
      const { status } = await fetch(base + path, { headers: { authorization: `${scheme} ${key}` } });
      t.equal(status, 401, `${path} with ${scheme}`);
    }
  }
  const { body: rotated } = await call('POST', `${keys}/${body.id}/rotate`, ann, { overlap_seconds: 60 });
  t.equal(rotated.resource, own.identifier);
  t.equal((await call('DELETE', `${keys}/${body.id}`, ann)).status, 204);
  t.same(await introspect(), { active: false });
  const scopes = [{ name: 'notes:read', description: 'Read' }];
  const again = await api('keys-again');
  const { body: old } = await call('POST', keys, ann, { ...draft, resource: again.identifier });
  t.equal((await call('DELETE', `${PATH}/${again.id}`, ann)).status, 204);
  await call('POST', PATH, ann, { identifier: again.identifier, name: 'again', scopes });
  const renewed = await call('POST', `${keys}/${old.id}/rotate`, ann, { overlap_seconds: 0 });
  t.equal(renewed.status, 400, 'a key of an API that was registered again is not rotated');
  await until(async () => (await own.idsOf()).includes(`token ${body.id}`), 2000);
  t.notOk((await files.idsOf()).includes(`token ${body.id}`));
});

t.test('a token whose grant was revoked while it was issued is not given away', async (t) => {
  const own = await api('race');
  const { refresh_token, access_token } = await tokensAt(own);
  const database = await built.database();
  const { gid } = decodeJwt(access_token);
  await database.collection('revocations').insertOne({
    ...{ _id: `grant:${gid}` as never, kind: 'grant', ref: gid, revision: 1 },
    ...{ updated_at: new Date(), expires_at: new Date(Date.now() + 3_600_000) },
  });
  t.equal((await refresh(built, refresh_token, web, { resource: own.identifier })).status, 503);
});
