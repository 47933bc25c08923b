import { until } from '@gatehouse/testing/processes';
import { newApiKey } from '@gatehouse/tokens/api-key';
import { decodeProtectedHeader } from 'jose';
import t from 'tap';
import { build, keyedApplication } from '../build.ts';
import { tokensFor } from '../tokens.ts';

const apiKey = newApiKey();
const built = await build(t, {
  checkResponses: true,
  applications: [keyedApplication(apiKey.key, ['manage:apps'])],
});
const { people, call, base, login } = built;
const PATH = '/api/v1/signing-keys';
const ROTATE = `${PATH}/rotate`;

type Key = { kid: string; alg: string; state: string } & Record<string, string | null>;

const admin = await login('admin');
const keysIn = ({ body }: { body: Record<string, unknown> }) => body.data as Key[];
const keys = async () => keysIn(await call('GET', PATH, admin));
const kidOf = (all: readonly Key[], alg: string, state: string) =>
  String(all.find((key) => key.alg === alg && key.state === state)?.kid);
const rotate = (body: unknown, token = admin) => call('POST', ROTATE, token, body);

t.test(
  'admins who have signed in to Gatehouse itself see the keys, without the keys themselves',
  async (t) => {
    const listed = await keys();
    t.same(
      listed.map(({ alg, state }) => `${alg} ${state}`),
      ['ES256 next', 'ES256 current', 'RS256 next', 'RS256 current'],
    );
    t.same(Object.keys(listed[0] ?? {}), ['kid', 'alg', 'state', 'created_at', 'activated_at', 'retired_at']);
    const published = (await (await fetch(`${base}/.well-known/jwks.json`)).json()) as {
      keys: { kid: string }[];
    };
    t.same(published.keys.map(({ kid }) => kid).sort(), listed.map(({ kid }) => kid).sort());

    const { access_token } = await tokensFor(built);
    for (const [method, path] of [
      ['GET', PATH],
      ['POST', ROTATE],
    ] as const) {
      for (const [name, token, status] of [
        ['nobody', undefined, 401],
        ['a person', await login('ann'), 403],
        ['an application', access_token, 403],
        ['an API key', apiKey.key, 403],
      ] as const) {
        const body =
          method === 'POST' ? { kids: [kidOf(listed, 'ES256', 'current')], force: true } : undefined;
        t.equal((await call(method, path, token, body)).status, status, `${method} ${name}`);
      }
    }
    t.same(await keys(), listed, 'nobody has rotated anything');
    t.equal((await call('GET', ROTATE, admin)).status, 405);
  },
);

t.test('a double click rotates once, and the rotation is in the audit log', async (t) => {
  const before = await keys();
  const [current, next] = [kidOf(before, 'ES256', 'current'), kidOf(before, 'ES256', 'next')];
  const early = await rotate({ kids: [current] });
  t.match(early, { status: 409, body: { error: { code: 'conflict', message: /published \d+ s ago/ } } });
  t.match(early.headers.get('retry-after'), /^\d+$/);

  const clicks = await Promise.all(Array.from({ length: 4 }, () => rotate({ kids: [current], force: true })));
  t.same(
    clicks.map(({ status }) => status),
    [200, 200, 200, 200],
  );
  const after = await keys();
  t.same([kidOf(after, 'ES256', 'current'), kidOf(after, 'ES256', 'previous')], [next, current]);
  t.equal(after.filter(({ alg }) => alg === 'ES256').length, 3);
  t.same(
    after.filter(({ alg }) => alg === 'RS256'),
    before.filter(({ alg }) => alg === 'RS256'),
  );
  const again = await rotate({ kids: [current], force: true });
  t.same(keysIn(again), after, 'later, too');

  await until(async () => {
    return decodeProtectedHeader(await login('ann')).kid === next;
  }, 5000);
  t.equal((await call('GET', '/api/v1/auth/status', admin)).status, 200, 'what was signed before is valid');
  const log = await call(
    'GET',
    `/api/v1/audit?filter[action]=keys.rotated&filter[actor]=${people.admin.id}`,
    admin,
  );
  t.match(log.body, {
    data: [{ address: '127.0.0.1', details: { algorithm: 'ES256', retired: current, current: next } }],
    meta: { totalItems: 1 },
  });
});

t.test('several keys at once; and what is refused names the field', async (t) => {
  const before = await keys();
  const kids = ['ES256', 'RS256'].map((alg) => kidOf(before, alg, 'current'));
  for (const [name, body, field] of [
    ['no body', undefined, 'The body'],
    ['no kids', { force: true }, 'kids'],
    ['an empty list', { kids: [] }, 'kids'],
    ['one kid as a string', { kids: kids[0] }, 'kids'],
    ['an unknown kid', { kids: [kids[0], 'key_unknown'], force: true }, 'kids.1'],
    ['a next key', { kids: [kidOf(before, 'ES256', 'next')], force: true }, 'kids.0'],
    ['an unknown field', { kids, forced: true }, 'forced'],
    ['another type', { kids, force: 'yes' }, 'force'],
    ['another type', { kids, compromised: 'yes' }, 'compromised'],
  ] as const) {
    const { status, body: response } = await rotate(body);
    t.equal(status, 400, name);
    t.match(response, { error: { code: 'invalid_parameter', details: [{ field }] } }, name);
  }
  t.same(await keys(), before);
  const after = keysIn(await rotate({ kids, force: true }));
  for (const alg of ['ES256', 'RS256']) t.equal(kidOf(after, alg, 'current'), kidOf(before, alg, 'next'));
});

t.test('after a compromise, nothing that the keys have signed is accepted', async (t) => {
  const replica = await built.replica();
  const before = await keys();
  const kids = ['ES256', 'RS256'].map((alg) => kidOf(before, alg, 'current'));
  const after = keysIn(await rotate({ kids, compromised: true }));
  const published = after.filter(({ state }) => state !== 'retired').map(({ kid }) => kid);
  for (const { kid } of before) t.notOk(published.includes(kid), kid);
  const atReplica = async () => {
    const { keys } = (await (await fetch(`${replica}/.well-known/jwks.json`)).json()) as {
      keys: { kid: string }[];
    };
    return keys.every(({ kid }) => published.includes(kid));
  };
  await until(atReplica, 1000);
  t.pass('another replica learns of it long before it looks at the database');
  await until(async () => (await call('GET', PATH, admin)).status === 401, 5000);
  const again = await login('admin');
  t.same(keysIn(await rotate({ kids, compromised: true }, again)), after, 'a repeated request does nothing');
});
