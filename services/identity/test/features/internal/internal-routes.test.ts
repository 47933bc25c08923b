import { hash, randomBytes } from 'node:crypto';
import { newId, timeOfId } from '@gatehouse/core/ids';
import {
  CLIENT_SERVICES,
  DASHBOARD,
  internalRoutesOf,
  isUnder,
  SERVICE_NAMES,
} from '@gatehouse/core/services';
import { until } from '@gatehouse/testing/processes';
import { newApiKey } from '@gatehouse/tokens/api-key';
import { internalAudience } from '@gatehouse/tokens/scopes';
import { decodeJwt } from 'jose';
import t from 'tap';
import type { TokenDraft } from '../../../src/core/tokens/token-signer.ts';
import { keptAccessRoutes } from '../../../src/features/access/access-routes.ts';
import { apiKeyResolution } from '../../../src/features/api-keys/api-key-routes.ts';
import { internalRoutes } from '../../../src/features/internal/internal-routes.ts';
import { build, keyedApplication, MACHINE, SPA } from '../../build.ts';
import { mailsOf, newPerson } from '../../pages.ts';
import { signerOf, tokensFor } from '../../tokens.ts';

const masterKey = randomBytes(32);
const apiKey = newApiKey();
const built = await build(t, {
  masterKey,
  applications: [keyedApplication(apiKey.key, ['read:users'])],
});
const { base, call, form, people, serviceSecret } = built;
const PREFIX = '/internal/identity';
const SERVICE = { client_id: 'users', client_secret: serviceSecret };
const BY = {
  ...{ user_id: 'usr_admin', client_id: 'app_1', address: '192.0.2.7' },
  ...{ user_agent: 'Browser/1', request_id: 'req_1' },
};
/** The same in an entry of the audit log. */
const BY_STORED = {
  ...{ actor: 'usr_admin', client: 'app_1', address: '192.0.2.7' },
  ...{ user_agent: 'Browser/1', request_id: 'req_1' },
};
const ROUTES = [
  ['GET', '/revocations', undefined],
  ['POST', '/api-keys/resolve', { hash: 'x'.repeat(43) }],
  ['POST', '/delegations', { credential: 'Bearer x' }],
  ['POST', '/delegations/token', { handle: 'x' }],
  ['POST', '/delegations/application-names', { handle: 'x', client_ids: [] }],
  ['POST', '/ended-credentials', { credentials: [] }],
  [
    'POST',
    '/account-changes',
    { id: newId('evt'), user_id: 'usr_1', epoch: 1, sign_in_epoch: 1, reason: 'role' },
  ],
  [
    'POST',
    '/queue-actions',
    { id: newId('evt'), action: 'queue.paused', details: { queue: 'messages', lane: 'sms' }, by: BY },
  ],
  ['POST', '/owned-applications', { ids: ['usr_1'] }],
  ['POST', '/erasures', { user_id: 'usr_1' }],
  ['POST', '/second-factors', { user_id: built.people.ann.id }],
  ['POST', '/kept-access', { user_id: built.people.ann.id, ids: [] }],
] as const;

const internal = await built.serviceToken('users');
const ask = (method: string, path: string, body?: unknown) => call(method, PREFIX + path, internal, body);

type Entry = { kind: string; id: string; epoch?: number; expiresAt: number };
async function list(since?: string): Promise<{ revocations: Entry[]; as_of: string }> {
  const query = since === undefined ? '' : `?since=${encodeURIComponent(since)}`;
  const { status, body } = await ask('GET', `/revocations${query}`);
  t.equal(status, 200);
  return body as { revocations: Entry[]; as_of: string };
}

t.test('nobody but the other services', async (t) => {
  const { access_token, id_token } = await tokensFor(built, { client: SPA, username: 'admin' });
  for (const [name, token] of [
    ['no token', undefined],
    ['nonsense', 'x'],
    ['a trusted machine', await built.machineToken()],
    ['an admin’s login', await built.login('admin')],
    ['an admin’s application', access_token],
    ['an ID token', id_token],
    ['an API key', apiKey.key],
  ] as const) {
    for (const [method, path, body] of ROUTES) {
      const { status, body: failure, headers } = await call(method, PREFIX + path, token, body);
      t.equal(status, 401, `${name}: ${path}`);
      t.match(failure, { error: { code: 'unauthorized', message: String } });
      t.equal(headers.get('cache-control'), 'no-store');
    }
  }
  const resource = `${base}/internal/identity`;
  for (const [name, parameters, error] of [
    ['the audience for a machine', { ...MACHINE, resource }, 'invalid_target'],
    ['the scope for a machine', { ...MACHINE, scope: 'internal' }, 'invalid_scope'],
    ['both', { ...MACHINE, scope: 'internal', resource }, 'invalid_target'],
    ['the API for a service', { ...SERVICE, resource: `${base}/api` }, 'invalid_target'],
    ['no service in particular', { ...SERVICE, resource: `${base}/internal` }, 'invalid_target'],
    ['no audience for a service', { ...SERVICE, scope: 'internal' }, 'invalid_target'],
    ['a service that does not exist', { ...SERVICE, resource: `${base}/internal/x` }, 'invalid_target'],
    ['a scope of the API for a service', { ...SERVICE, resource, scope: 'read:users' }, 'invalid_scope'],
    ['both scopes for a service', { ...SERVICE, resource, scope: 'internal read:users' }, 'invalid_scope'],
    ['a wrong secret', { ...SERVICE, resource, client_secret: 'x' }, 'invalid_client'],
  ] as [string, Record<string, string>, string][]) {
    const refused = await form({ grant_type: 'client_credentials', ...parameters });
    t.equal(refused.body.error, error, name);
    t.notOk('access_token' in refused.body, name);
  }
});

t.test('a service gets tokens for the services that it may call', async (t) => {
  for (const client of CLIENT_SERVICES) {
    // It signs people in, and gets no token for itself.
    const failure = client === DASHBOARD ? 'unauthorized_client' : 'invalid_target';
    for (const service of SERVICE_NAMES) {
      const { status, body } = await form({
        grant_type: 'client_credentials',
        client_id: client,
        client_secret: serviceSecret,
        resource: internalAudience(base, service),
        scope: 'internal',
      });
      const isAllowed = internalRoutesOf(service).some(({ callers }) => callers.includes(client));
      t.match(
        { status, error: body.error },
        isAllowed ? { status: 200 } : { status: 400, error: failure },
        `${client} for ${service}`,
      );
    }
  }
});

t.test('each route, for each service that asks', async (t) => {
  const sign = await signerOf(await built.database(), { masterKey, issuer: base });
  const tokenOf = async (clientId: string, more: Partial<TokenDraft> = {}) => {
    const audience = internalAudience(base, 'identity');
    const claims = { trusted: true, epoch: { client: 0 } };
    const draft = { subject: clientId, clientId, audience, scope: 'internal', lifetime: 60, claims, ...more };
    return (await sign(draft)).token;
  };
  for (const { prefix, callers } of internalRoutesOf('identity')) {
    const routes = ROUTES.filter(([, path]) => isUnder(PREFIX + path, prefix));
    t.ok(routes.length > 0, `${prefix} has routes`);
    for (const [method, path, body] of routes) {
      for (const client of [...SERVICE_NAMES, 'app_machine', 'nobody']) {
        const { status } = await call(method, PREFIX + path, await tokenOf(client), body);
        const expected = callers.includes(client) ? [200, 204, 404] : [403];
        t.ok(expected.includes(status), `${client}: ${method} ${path} ${status}`);
      }
      for (const service of SERVICE_NAMES.filter((name) => name !== 'identity')) {
        const audience = internalAudience(base, service);
        const { status } = await call(method, PREFIX + path, await tokenOf('users', { audience }), body);
        t.equal(status, 401, `a token for ${service}: ${path}`);
      }
    }
  }
  const revocations = `${PREFIX}/revocations`;
  const without = await tokenOf('users', { scope: 'read:users' });
  t.equal((await call('GET', revocations, without)).status, 403, 'without the scope');
  t.equal((await call('GET', revocations, await tokenOf('users', { lifetime: -60 }))).status, 401);
});

t.test('every route that is mounted has an entry', async (t) => {
  const unused = () => Promise.reject(new Error('not called'));
  const router = internalRoutes({
    authenticate: unused,
    revocations: { list: unused },
    verifyCredential: unused,
    delegations: { create: unused, token: unused, find: unused },
    applicationNames: unused,
    isInForce: unused,
    accountChanged: unused,
    audit: { record: unused },
    requestErasure: unused,
    notices: { reported: unused },
    secondFactors: { of: unused },
    ownedApplications: unused,
  });
  const ofKeys = apiKeyResolution({ authenticate: unused, keys: { resolve: unused } });
  const kept = keptAccessRoutes({
    ...{ authenticate: unused, accounts: { find: unused }, sources: [] },
    authority: {
      givenBy: () => ({
        by: '',
        epoch: 0,
        ownerEpoch: undefined,
        adminEpoch: undefined,
        role: undefined,
        madeBy: undefined,
      }),
    },
  });
  const stack = [...router.stack, ...ofKeys.stack, ...kept.stack];
  const mounted = stack.filter(({ methods }) => methods.length > 0).map(({ path }) => String(path));
  const patterns = ROUTES.map(([, path]) => PREFIX + path);
  t.same(mounted.sort(), patterns.sort(), 'the routes of these tests');
  for (const path of mounted) {
    t.ok(
      internalRoutesOf('identity').some(({ prefix }) => isUnder(path, prefix)),
      path,
    );
  }
});

t.test('nor are their tokens of use anywhere else', async (t) => {
  for (const path of [
    `/v1/users/${people.ann.id}`,
    '/userinfo',
    '/api/v1/auth/permissions',
    '/api/v1/applications',
    `/internal/users/accounts?ids=${people.ann.id}`,
  ]) {
    t.equal((await call('GET', path, internal)).status, 401, path);
  }
});

t.test('the list of revocations, and what came since', async (t) => {
  const before = await list();
  t.match(before.as_of, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const token = await built.machineToken();
  await form({ token, ...MACHINE }, {}, '/oauth2/revoke');
  const id = String(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).jti);
  const mine = (entries: Entry[]) => entries.filter((entry) => entry.id === id);
  const after = await list(before.as_of);
  t.match(mine(after.revocations), [{ kind: 'token', id, expiresAt: Number }]);
  const expiresAt = Number(mine(after.revocations)[0]?.expiresAt);
  t.ok(expiresAt >= Date.now() / 1000 + 3590, 'kept for as long as the token could live');
  t.ok(after.as_of >= before.as_of);
  t.equal(mine((await list()).revocations).length, 1);
  t.equal(mine((await list(after.as_of)).revocations).length, 1, 'some seconds overlap');
  t.equal(mine((await list('2100-01-01T00:00:00.000Z')).revocations).length, 0);
  t.equal(mine((await list('yesterday')).revocations).length, 1, 'what is no time counts as none');
});

t.test('an account change may come again, and late', async (t) => {
  const ofUser = { user_id: 'usr_elsewhere', epoch: 7, sign_in_epoch: 3, reason: 'password' };
  const change = { id: newId('evt'), ...ofUser };
  const at = new Date().toISOString();
  for (const epoch of [7, 7, 6]) {
    const { status, body } = await ask('POST', '/account-changes', { ...change, epoch, at });
    t.equal(status, 204);
    t.same(body, {});
  }
  const entries = (await list()).revocations.filter(({ id }) => id === change.user_id);
  t.match(entries, [{ kind: 'subject', epoch: 7 }], 'one entry, with the highest epoch');
  t.equal(entries.length, 1);
  for (const [name, body] of [
    ['nothing', undefined],
    ['no user', { ...change, user_id: undefined }],
    ['an id that is no event’s', { ...change, id: 'evt_1' }],
    ['an epoch that is none', { ...change, epoch: '7' }],
    ['a fraction', { ...change, epoch: 7.5 }],
    ['a list', []],
    ['an operator', { ...change, user_id: { $gt: '' } }],
  ] as const) {
    const refused = await ask('POST', '/account-changes', body);
    t.equal(refused.status, 400, name);
    t.match(refused.body, { error: { code: 'invalid_parameter' } }, name);
  }
});

const log = (await built.database()).collection<{ _id: string; expires_at: Date }>('audit_log');

/** The entries of the audit log that come from an event. */
async function entriesOf(event: string) {
  const found = await log.find({ _id: event.replace('evt_', 'aud_') }).toArray();
  return found.map(({ _id: _, expires_at: __, ...entry }) => entry);
}

t.test('each account change is in the audit log, once however often it comes', async (t) => {
  const { user_agent: _, ...byOfEarlierVersions } = BY;
  const { user_agent: __, ...withoutUserAgent } = BY_STORED;
  const role = { from: 'user', to: 'admin' };
  const status = { from: 'active', to: 'inactive' };
  const created = { role: 'admin', status: 'active' };
  const changed = 'account.changed';
  const actors = ['app_2', 'app_1'];
  for (const [change, action, revokes, origin = BY_STORED] of [
    [{ reason: 'created', details: created, by: BY }, 'account.created', false],
    [{ reason: 'created', details: created }, 'account.created', false, {}],
    [
      { reason: 'created', details: created, by: { ...BY, user_id: null } },
      'account.created',
      false,
      { ...BY_STORED, actor: undefined },
    ],
    [{ reason: 'username', by: BY }, changed, false],
    [
      { reason: 'username', by: { ...BY, actors } },
      changed,
      false,
      { ...BY_STORED, actor: undefined, details: { change: 'username', actors } },
    ],
    [{ reason: 'email', by: BY }, changed, false],
    [{ reason: 'email' }, undefined, false],
    [{ reason: 'role', details: role, by: BY }, changed, true],
    [{ reason: 'role', by: byOfEarlierVersions }, changed, true, withoutUserAgent],
    [{ reason: 'status', details: status, by: BY }, changed, true],
    [{ reason: 'password', by: BY }, 'password.changed', true],
    [{ reason: 'password' }, undefined, true],
    [{ reason: 'email_restored' }, changed, true, {}],
    [{ reason: 'deleted', by: BY }, 'account.deleted', true],
  ] as [{ reason: string; details?: object }, string | undefined, boolean, object?][]) {
    const about = JSON.stringify(change);
    const expected = action && { action, details: { change: change.reason, ...change.details }, ...origin };
    const event = { id: newId('evt'), user_id: newId('usr'), epoch: 3, sign_in_epoch: 2, ...change };
    for (let i = 0; i < 2; i += 1) t.equal((await ask('POST', '/account-changes', event)).status, 204, about);
    const entries = await entriesOf(event.id);
    const rest = { at: timeOfId(event.id), subject: event.user_id };
    const stored = Object.fromEntries(
      Object.entries({ ...(expected || {}), ...rest }).filter(([, it]) => it !== undefined),
    );
    t.same(entries, expected === undefined ? [] : [stored], about);
    const { revocations } = await list();
    t.equal(
      revocations.some(({ id }) => id === event.user_id),
      revokes,
      about,
    );
  }
});

t.test(
  'a person gets a bounded number of mails about their webhooks, at a confirmed address only',
  async (t) => {
    const token = await built.serviceToken('notifications');
    const { ann } = people;
    const member = await built.createPerson('member');
    await newPerson(built, 'unconfirmed');
    const { sub: unconfirmed } = decodeJwt(await built.login('unconfirmed'));
    const report = (action: string, subject: string, more: object = {}, by = subject) => {
      const details = { webhook: 'whk_1', host: 'evil.example', events: ['*'], status: 'active', ...more };
      const body = { id: newId('evt'), action, details, by: { ...BY, user_id: by }, subject };
      return { body, send: () => call('POST', `${PREFIX}/queue-actions`, token, body) };
    };
    const about = async (text: RegExp) =>
      (await mailsOf(built)).filter((mail) => text.test(mail) && mail.includes('evil·example'));
    const created = report('webhook.created', ann.id);
    for (let i = 0; i < 2; i += 1) t.equal((await created.send()).status, 204);
    await report('webhook.created', String(unconfirmed)).send();
    await report('webhook.removed', ann.id).send();
    await report('webhook.paused', ann.id, { reason: 'owner' }).send();
    for (const reason of ['failing', 'credential']) await report('webhook.paused', ann.id, { reason }).send();
    await until(async () => (await about(/was paused/)).length === 2, 5000);
    for (let i = 0; i < 10; i += 1) await report('webhook.changed', ann.id, { given_by: member }).send();
    await report('webhook.changed', ann.id).send();
    await until(async () => (await about(/This was done by member\./)).length === 3, 5000);
    await until(async () => (await about(/was resumed, or has.*If it was you/s)).length === 1, 5000);
    t.equal((await about(/A webhook for/)).length, 1, 'once, and to nobody whose address is not confirmed');
    t.equal((await about(/./)).length, 7);
    t.notMatch((await about(/./)).join(), 'evil.example', 'no link');
  },
);

t.test('each action on a queue or webhook is in the audit log, once however often it comes', async (t) => {
  const token = await built.serviceToken('notifications');
  const report = (body: object) => call('POST', `${PREFIX}/queue-actions`, token, body);
  for (const [action, details, subject] of [
    ['queue.paused', { queue: 'messages', lane: 'sms' }],
    ['queue.resumed', { queue: 'messages', lane: 'sms' }],
    ['dead_letters.replayed', { queue: 'messages', lane: 'sms', ids: ['ntf_1-1', 'ntf_2-1'] }],
    ['dead_letters.removed', { queue: 'messages', lane: 'sms', ids: ['ntf_1-1'] }],
    ['dead_letters.purged', { queue: 'messages', lanes: ['email', 'sms'], number: 3 }],
    ['webhook.created', { webhook: 'whk_1', host: 'a.example', events: ['*'], status: 'active' }, 'usr_1'],
    ['webhook.changed', { webhook: 'whk_1', host: 'b.example', events: ['*'], status: 'active' }, 'usr_1'],
    [
      ...([
        'webhook.paused',
        { webhook: 'whk_1', host: 'b.example', status: 'paused', reason: 'backlog' },
      ] as const),
      'usr_1',
    ],
    ['webhook.removed', { webhook: 'whk_1', host: 'b.example' }],
  ] as const) {
    const of = subject === undefined ? {} : { subject };
    const event = { id: newId('evt'), action, details, by: BY, ...of };
    for (let i = 0; i < 2; i += 1) t.equal((await report(event)).status, 204, action);
    const stored = { action, details, at: timeOfId(event.id), ...BY_STORED, ...of };
    t.same(await entriesOf(event.id), [stored], action);
  }
  const details = { queue: 'messages', lane: 'sms' };
  const event = { id: newId('evt'), action: 'queue.paused', details, by: BY };
  for (const [name, body] of [
    ['an action that is not of a queue', { ...event, action: 'account.created' }],
    ['an id that is no event’s', { ...event, id: 'aud_1' }],
    ['nobody', { ...event, by: undefined }],
    ['no details', { ...event, details: undefined }],
    [
      'a URL',
      { ...event, action: 'webhook.created', details: { webhook: 'whk_1', url: 'https://a.example/?key=x' } },
    ],
    ['details of something else', { ...event, details: { ...details, email: 'ann@example.org' } }],
  ] as const) {
    t.equal((await report(body)).status, 400, name);
  }
  t.same(await entriesOf(event.id), []);
});

t.test('an API key by its hash', async (t) => {
  const known = await ask('POST', '/api-keys/resolve', { hash: hash('sha256', apiKey.key, 'base64url') });
  t.equal(known.status, 200);
  t.same(known.body, {
    id: apiKey.id,
    client_id: 'app_keyed',
    scopes: ['read:users'],
    trusted: true,
    owner: null,
    role: null,
    epoch: { client: 0 },
    expires_at: null,
  });
  t.match(await ask('POST', '/api-keys/resolve', { hash: 'x'.repeat(43) }), { status: 404 });
  for (const body of [undefined, {}, { hash: apiKey.key }, { hash: { $gt: '' } }, { hash: '' }]) {
    t.match(await ask('POST', '/api-keys/resolve', body), { status: 400 }, JSON.stringify(body));
  }
});

t.test('the states of at most 50 credentials', async (t) => {
  const token = await built.serviceToken('notifications');
  const ended = (credentials: unknown) => call('POST', `${PREFIX}/ended-credentials`, token, { credentials });
  const epoch = { client: 0, subject: 0 };
  const known = { client_id: 'app_keyed', user_id: people.ann.id, grant_id: null, key_id: apiKey.id, epoch };
  t.match(
    await ended([
      known,
      { ...known, key_id: 'key_unknown' },
      { ...known, client_id: 'app_unknown' },
      { ...known, grant_id: 'unknown' },
      { ...known, client_id: 'gatehouse-login' },
      { ...known, epoch: { client: 1, subject: 0 } },
      { ...known, epoch: { client: 0, subject: -1 } },
    ]),
    { status: 200, body: { ended: [false, true, true, true, true, true, true] } },
  );
  t.match(await ended(Array(50).fill(known)), { status: 200 });
  for (const wrong of [undefined, {}, [{ ...known, user_id: { $gt: '' } }], [{}], Array(51).fill(known)]) {
    t.equal((await ended(wrong)).status, 400);
  }
});

t.test('other paths and methods', async (t) => {
  t.match(await ask('GET', '/nothing'), { status: 404, body: { error: { code: 'not_found' } } });
  t.match(await ask('DELETE', '/revocations'), {
    status: 405,
    body: { error: { code: 'method_not_allowed' } },
  });
});

t.test('who owns applications, and what these may read', async (t) => {
  const notifications = await built.serviceToken('notifications');
  const of = async (id: string) =>
    Object((await call('POST', `${PREFIX}/owned-applications`, notifications, { ids: [id] })).body).owners[0];
  const epochs = { recovery: 0, authority: 0 };
  t.same(await of('app_keyed'), {
    ...{ client_ids: ['app_keyed'], visible_client_ids: ['app_keyed'], role: 'machine', person: null },
    ...{ scopes: ['read:users'], owner: null, epochs },
    credentials: [{ ids: [apiKey.id], given_by: null, epoch: 0, role: 'machine', scopes: ['read:users'] }],
  });
  const { client_ids, role, scopes } = (await of(people.admin.id)) as Record<string, string[]>;
  t.equal(role, 'admin');
  t.ok(client_ids?.length && scopes?.includes('read:users'), 'the applications of an admin');
  t.match(await of(people.ann.id), {
    client_ids: [],
    role: 'user',
    scopes: [],
    owner: people.ann.id,
    epochs,
  });
  t.match(await of('usr_nobody'), { client_ids: [], role: null, scopes: [], owner: null, epochs });
});
