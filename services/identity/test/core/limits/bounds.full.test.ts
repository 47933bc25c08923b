import { createBoundKeeper } from '@gatehouse/data/bounded';
import { RATE_LIMITS } from '@gatehouse/data/rate-limit-store';
import { until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import { mongo } from 'mongoose';
import t from 'tap';
import { BOUNDS, MAX_REQUEST } from '../../../src/core/limits/bounds.ts';
import { build, codeFor, ownApplication, SPA, WEB } from '../../build.ts';
import { stranger } from '../../stranger.ts';
import { dpopKey, pkce } from '../../tokens.ts';

t.setTimeout(240_000);

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const built = await build(t, {
  rateLimit: 'on',
  config: { rateLimitStore: 'mongodb' },
  applications: [
    ownApplication('app_device', { type: 'native', trusted: false, scopes: ['openid'], deviceFlow: true }),
  ],
});
const connection = await built.database();
const { base } = built;
const send = stranger(base);

/** The documents of each collection. */
async function stored() {
  const collections = (await connection.db?.listCollections().toArray()) ?? [];
  const found = new Map<string, Record<string, unknown>[]>();
  for (const { name } of collections) found.set(name, await connection.collection(name).find().toArray());
  return found;
}

const parameters = () => ({
  client_id: SPA.client_id,
  redirect_uri: SPA.redirect_uri,
  response_type: 'code',
  scope: 'openid',
  ...pkce().challenge,
});
/** The longest request that is taken, of characters that grow when they are stored. */
function longest(more: Record<string, string> = parameters(), last = 'state'): string {
  const form = new URLSearchParams({ ...more, [last]: '' }).toString();
  return `${form}${'%01'.repeat(Math.floor((MAX_REQUEST - form.length) / 3))}`;
}

const N = 620;
const proofs = await dpopKey();
/** What a stranger can do, and how often it may be done in a minute from one address. */
const FLOODS: {
  name: string;
  times: number;
  allowed: number;
  send(address: string, i: number): Promise<unknown>;
}[] = [
  {
    name: 'pushed requests',
    ...{ times: N, allowed: 600 },
    send: (address) => send(address, 'POST', '/oauth2/par', longest(), FORM),
  },
  {
    name: 'devices',
    ...{ times: N, allowed: 600 },
    send: (address) =>
      send(
        address,
        'POST',
        '/oauth2/device_authorization',
        longest({ client_id: 'app_device' }, 'login_hint'),
        {
          ...FORM,
          'user-agent': 'x'.repeat(5000),
        },
      ),
  },
  {
    name: 'pages for the codes of devices',
    ...{ times: N, allowed: 600 },
    send: (address) => send(address, 'GET', '/device'),
  },
  {
    name: 'authorization requests',
    ...{ times: N, allowed: 600 },
    send: (address) => send(address, 'GET', `/oauth2/authorize?${longest()}`),
  },
  {
    name: 'sign-outs',
    ...{ times: N, allowed: 600 },
    send: (address) => send(address, 'GET', `/oauth2/logout?${longest({ client_id: WEB.client_id })}`),
  },
  {
    name: 'passwords',
    ...{ times: 70, allowed: 60 },
    send: (address, i) =>
      send(
        address,
        'POST',
        '/api/v1/auth/login',
        JSON.stringify({ username: `nobody${i}`, password: 'x'.repeat(9) }),
        {
          'content-type': 'application/json',
          'user-agent': 'x'.repeat(5000),
          'x-request-id': 'x'.repeat(128),
        },
      ),
  },
  {
    name: 'pushed requests with proofs',
    ...{ times: N, allowed: 600 },
    async send(address) {
      const dpop = await proofs.proof('POST', `${base}/oauth2/par`);
      return send(address, 'POST', '/oauth2/par', new URLSearchParams(parameters()).toString(), {
        ...FORM,
        dpop,
      });
    },
  },
  {
    name: 'requests for a new password',
    ...{ times: 40, allowed: 20 },
    async send(address, i) {
      const { text, cookies } = await send(address, 'GET', '/account/forgotten-password');
      const csrf = /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? '';
      const login = i % 2 === 0 ? built.people.ann.email : `nobody${i}`;
      const cookie = cookies.map((it: string) => it.split(';')[0]).join('; ');
      const body = new URLSearchParams({ csrf, login }).toString();
      return send(address, 'POST', '/account/forgotten-password', body, { ...FORM, cookie });
    },
  },
];
/** Bounded elsewhere, or not at all: a proof that goes too early would be accepted twice. A person has one link for each purpose. */
const OTHERS = [
  { collection: 'oidc_replay_detections', bytes: 256, seconds: 3600 },
  { collection: RATE_LIMITS, bytes: 256, seconds: 3600 },
  { collection: 'one_time_links', bytes: 512, seconds: 72 * 3600 },
];
/** The counters of the requests themselves have three sizes of network, and each limit its own. */
const MANY: Readonly<Record<string, number>> = { sign_in_counters: 5, rate_limits: 20 };

t.test(
  'documents that a stranger can store from one address are limited in number, size and life',
  async (t) => {
    const bounds = new Map([...BOUNDS, ...OTHERS].map((it) => [it.collection, it]));
    for (const [i, flood] of FLOODS.entries()) {
      const address = `127.0.0.${10 + i}`;
      const before = await stored();
      const begin = performance.now();
      for (let sent = 0; sent < flood.times; sent += 20) {
        await Promise.all(Array.from({ length: 20 }, (_, j) => flood.send(address, sent + j)));
      }
      const windows = 1 + Math.floor((performance.now() - begin) / 60_000);
      // The audit log is written a moment later.
      await new Promise((resolve) => setTimeout(resolve, 400));
      for (const [name, documents] of await stored()) {
        const known = new Set(before.get(name)?.map(({ _id }) => String(_id)));
        const fresh = documents.filter(({ _id }) => !known.has(String(_id)));
        if (fresh.length === 0) continue;
        const what = `${name}, of ${flood.name}`;
        const bound = bounds.get(name);
        if (bound === undefined) {
          t.fail(`${what}: without a bound`);
          continue;
        }
        const largest = Math.max(
          ...fresh.map((it: Record<string, unknown>) => mongo.BSON.calculateObjectSize(it)),
        );
        const life = Math.max(...fresh.map(({ expires_at }) => (Number(expires_at) - Date.now()) / 1000));
        t.comment(`${what}: ${fresh.length}, at most ${largest} bytes, ${Math.ceil(life)} s`);
        t.ok(fresh.length <= flood.allowed * windows * (MANY[name] ?? 1), `${what}: ${fresh.length}`);
        t.ok(largest <= bound.bytes, `${what}: ${largest} bytes`);
        t.ok(life <= bound.seconds, `${what}: for ${life} s`);
      }
    }
  },
);

t.test('of the codes of devices, 60 can be guessed in a minute', async (t) => {
  let page = await send('127.0.0.31', 'GET', '/device');
  const cookie = page.cookies.map((it: string) => it.split(';')[0]).join('; ');
  const statuses: number[] = [];
  for (let i = 0; i < 70; i += 1) {
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const body = new URLSearchParams({ xsrf, user_code: `BCDF-GHJ${i}` }).toString();
    page = await send('127.0.0.31', 'POST', '/device', body, { ...FORM, cookie });
    statuses.push(page.status);
  }
  t.strictSame(statuses, [...Array(60).fill(400), ...Array(10).fill(429)]);
});

t.test('a longer request is refused, pushed or not', async (t) => {
  const tooLong = `${longest()}%01`;
  const pushed = await send('127.0.0.30', 'POST', '/oauth2/par', tooLong, FORM);
  t.match(pushed, { status: 400, text: /invalid_request.*longer than 6144/ });
  const { status } = await send('127.0.0.30', 'GET', `/oauth2/authorize?${tooLong}`);
  t.equal(status, 400);
});

t.test('beyond the bound of strangers from everywhere, the first go; what people have is kept', async (t) => {
  const browser = built.browser();
  await codeFor(browser);
  const ofPeople = { account_id: { $ne: null } };
  const sessions = await connection.collection('oidc_sessions').countDocuments(ofPeople);
  t.ok(sessions > 0);
  for (const { collection, filter = () => ({}) } of BOUNDS) {
    t.ok((await connection.collection(collection).countDocuments(filter())) > 4, `${collection} was filled`);
  }
  const [oldest] = await connection.collection('oidc_interactions').find().sort({ expires_at: 1 }).toArray();
  const keeper = createBoundKeeper(
    connection,
    BOUNDS.map((bound) => ({ ...bound, max: 4 })),
    { logger, everySeconds: 0.05 },
  );
  t.teardown(() => keeper.stop());
  keeper.start();
  for (const { collection, filter = () => ({}) } of BOUNDS) {
    await until(async () => (await connection.collection(collection).countDocuments(filter())) <= 4, 10_000);
  }
  t.equal(await connection.collection('oidc_sessions').countDocuments(ofPeople), sessions);
  t.equal(await connection.collection('oidc_interactions').findOne({ _id: oldest?._id as never }), null);
  const { status } = await browser.get('/account');
  t.equal(status, 200);
});

t.test('the documents to remove first are found by an index', async (t) => {
  for (const { collection, filter = () => ({}), firstToGo, index } of BOUNDS) {
    const plan = await connection
      .collection(collection)
      .find(filter())
      .sort(firstToGo)
      .hint(index ?? {})
      .explain('queryPlanner');
    const winning = JSON.stringify(
      (plan as { queryPlanner: { winningPlan: unknown } }).queryPlanner.winningPlan,
    );
    t.match(winning, /IXSCAN/, collection);
    t.notMatch(winning, /COLLSCAN|"stage":"SORT"/, collection);
  }
});
