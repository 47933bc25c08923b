import { until } from '@gatehouse/testing/processes';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import t from 'tap';
import { build } from '../../build.ts';
import { type Caller, callers } from '../../callers.ts';
import { mailsOf } from '../../pages.ts';
import { untilDead } from '../../tokens.ts';

const masterKey = Buffer.alloc(32, 7);
const built = await build(t, { masterKey, checkResponses: true });
const { call, people } = built;
const PATH = '/api/v1/impersonations';
const tokens = await callers(built, { masterKey, person: 'ann' });
const draft = { user_id: people.ann.id, reason: 'Her orders are not listed.' };
const impersonate = (token = tokens['an admin'], more: object = {}) =>
  call('POST', PATH, token, { ...draft, ...more });
const read = async (token: string) => (await call('GET', `/v1/users/${people.ann.id}`, token)).status;

t.test('an admin acts as somebody else for 15 minutes', async (t) => {
  const { status, body } = await impersonate();
  t.equal(status, 201);
  const { access_token: token, ...rest } = body;
  const scope = 'read:profile read:users read:data write:data';
  t.strictSame(rest, { expires_in: 900, scope });
  const { auth_time, gid, acr, ...claims } = decodeJwt(String(token));
  t.match(claims, { sub: people.ann.id, act: { sub: people.admin.id }, roles: ['user'], scope });
  t.strictSame([auth_time, gid, acr], [undefined, undefined, undefined], 'no sign-in of hers');
  t.equal(await read(String(token)), 200);
  t.equal((await call('GET', `/v1/users/${people.admin.id}`, String(token))).status, 403);
  for (const [method, path] of [
    ['PUT', `/v2/users/${people.ann.id}/password`],
    ['GET', '/api/v1/applications'],
    ['GET', '/api/v1/sessions'],
    ['POST', PATH],
    ['POST', '/api/v1/auth/refresh'],
  ] as const) {
    t.equal((await call(method, path, String(token), method === 'GET' ? undefined : {})).status, 403, path);
  }
});

t.test('it is in the audit log, and the person gets a mail', async (t) => {
  t.equal((await impersonate()).status, 201);
  const { body } = await call('GET', '/api/v1/audit?filter[action]=account.impersonated', tokens['an admin']);
  const by = { actor: people.admin.id, subject: people.ann.id, details: { reason: draft.reason } };
  t.match((body.data as object[])[0], by);
});

t.test('each reaches the person by mail, with its reason', async (t) => {
  const reasons = [1, 2, 3, 4].map((it) => `Ticket 471${it}: <b>orders</b>, “see” https://evil.example.`);
  for (const reason of reasons) t.equal((await impersonate(undefined, { reason })).status, 201);
  const mails = async () => (await mailsOf(built)).filter((it) => it.includes('Ticket 471'));
  await until(async () => (await mails()).length === reasons.length, 3000);
  for (const [i, mail] of (await mails()).sort().entries()) {
    t.match(mail, /To: ann@example\.org/i);
    t.match(mail, 'An admin acts in your account');
    const plain = `Ticket 471${i + 1}: b orders b , see https· evil·example.`;
    t.match(mail, `The reason that the admin gave: “${plain}”`);
  }
});

t.test('who may not', async (t) => {
  const statuses: Record<Caller, number> = {
    nobody: 401,
    'the person': 403,
    'somebody else': 403,
    'an editor': 403,
    'an admin': 201,
    'an admin who signed in six minutes ago': 401,
    'an application of an admin': 403,
    'a machine': 403,
  };
  for (const [name, status] of Object.entries(statuses)) {
    const token = tokens[name as Caller];
    t.equal((await call('POST', PATH, token, draft)).status, status, name);
  }
});

t.test('as whom, and why', async (t) => {
  const gone = await built.createPerson('ines');
  const boss = await built.createPerson('bea', 'admin');
  await call('PUT', `/v2/users/${gone}/status`, tokens['an admin'], { status: 'inactive' });
  for (const [name, more, status] of [
    ['no reason', { reason: ' ' }, 400],
    ['an invisible reason', { reason: '\u200b' }, 400],
    ['a long reason', { reason: 'a'.repeat(501) }, 400],
    ['oneself', { user_id: people.admin.id }, 400],
    ['another admin', { user_id: boss }, 403],
    ['nobody', { user_id: 'usr_nobody' }, 404],
    ['an inactive account', { user_id: gone }, 409],
  ] as const) {
    t.equal((await impersonate(tokens['an admin'], more)).status, status, name);
  }
  t.equal((await call('POST', PATH, tokens['an admin'], { user_id: people.ann.id })).status, 400);
});

t.test('it ends within a second with the credential of the admin, and the person’s access', async (t) => {
  const root = await built.login('admin');
  const endSessions = (id: string) => call('DELETE', `/api/v1/sessions?user_id=${id}`, root);
  for (const [name, end] of Object.entries({
    'the admin logs out': (login: string) => call('POST', '/api/v1/auth/logout', login),
    'all access of the person is revoked': () =>
      call('POST', `/api/v1/users/${people.ann.id}/revocations`, root, {}),
    'the sessions of the admin end': () => endSessions(people.admin.id),
  })) {
    const login = await built.login('admin');
    const token = String((await impersonate(login)).body.access_token);
    t.equal(await read(token), 200, name);
    t.ok((await end(login)).status < 300, name);
    const begun = performance.now();
    await until(async () => (await read(token)) === 401, 5000);
    t.ok(performance.now() - begun < 1000, name);
  }
});

t.test('it ends with the key that has signed the credential of the admin', async (t) => {
  const login = await built.login('admin');
  const replica = await built.replica({ accessTokenAlgorithm: 'RS256' });
  const response = await fetch(replica + PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${login}`, 'content-type': 'application/json' },
    body: JSON.stringify(draft),
  });
  const { access_token: token } = (await response.json()) as { access_token: string };
  const [before, after] = [login, token].map((it) => decodeProtectedHeader(it));
  t.same([before?.alg, after?.alg], ['ES256', 'RS256']);
  t.equal(await read(token), 200);
  const withdrawal = { kids: [before?.kid], compromised: true };
  t.equal((await call('POST', '/api/v1/signing-keys/rotate', login, withdrawal)).status, 200);
  await untilDead(built, token);
});
