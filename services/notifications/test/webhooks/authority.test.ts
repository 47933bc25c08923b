import { newId } from '@gatehouse/core/ids';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';
import { BOB, build, type Delivery, SCOPES, type Webhook } from './build.ts';

const { hooks, issuer, publish, order, at, behave, origin, mongodbUri } = await build(t);
const { connection } = await startTestDatabase(t, { uri: mongodbUri, define: () => ({}) });
const stored = connection.collection<{ _id: string }>('webhooks');
const { taken } = issuer.queueActions;

/** Somebody who owns an application with an API key, and what identity says of both. */
async function owner() {
  const id = newId('usr');
  const app = newId('app');
  issuer.own(id, app);
  const resolved = {
    client_id: app,
    scopes: SCOPES.split(' '),
    trusted: false,
    owner: id,
    role: 'user',
  } as const;
  const key = issuer.apiKey(resolved);
  const state = { recovery: 0, authority: 0, owner: id, keys: [key.id] };
  const say = (changes: Partial<typeof state> = {}) => {
    const { owner: person, keys, recovery, authority } = Object.assign(state, changes);
    const epochs = { recovery, authority };
    issuer.rights.set(id, { epochs });
    issuer.rights.set(app, { epochs, person, client_ids: [app], key_ids: keys });
  };
  say();
  return { id, app, key, say, token: await issuer.person(id, 'user', `${SCOPES} manage:apps`) };
}
type Owner = Awaited<ReturnType<typeof owner>>;

const revoked = (kind: 'subject' | 'client' | 'api_key', id: string) => issuer.revoke({ kind, id, epoch: 0 });
const recovered = ({ id, say }: Owner) => {
  say({ recovery: 1 });
  revoked('subject', id);
};
const keyEnded = ({ key, say }: Owner) => {
  say({ keys: [] });
  revoked('api_key', key.id);
};
const ended = ({ id, say }: Owner) => {
  say({ authority: 1 });
  revoked('subject', id);
};
const transferred = ({ app, say }: Owner) => {
  say({ owner: BOB });
  revoked('client', app);
};
const rotated = ({ key, say }: Owner) => {
  say({ keys: ['its successor', key.id] });
  revoked('api_key', key.id);
};
const asOfEarlierVersion = (id: string) => stored.updateOne({ _id: id }, { $unset: { basis: 1, slot: 1 } });

type Case = [
  name: string,
  maker: 'person' | 'application' | 'of an earlier version',
  happens: (owner: Owner) => void,
  /** The reason of the pause; null while it holds, undefined when it is removed. */
  reason: string | null | undefined,
];
const cases: Case[] = [
  ['the person is recovered', 'person', recovered, 'recovery'],
  ['all credentials of the person are ended', 'person', ended, 'recovery'],
  ['a key of the person ends', 'person', keyEnded, null],
  ['the application of the person is transferred', 'person', transferred, null],
  ['the owner of the application is recovered', 'application', recovered, 'recovery'],
  ['all credentials of the owner are ended', 'application', ended, 'recovery'],
  ['the key ends', 'application', keyEnded, 'credential'],
  ['the key is rotated', 'application', rotated, null],
  ['the application is transferred', 'application', transferred, undefined],
  ['nothing but a key', 'of an earlier version', keyEnded, null],
  ['the owner is recovered', 'of an earlier version', recovered, 'recovery'],
  ['the application is transferred, and made it earlier', 'of an earlier version', transferred, undefined],
];
for (const [name, maker, happens, reason] of cases) {
  t.test(`a webhook, when ${name}`, async (t) => {
    const somebody = await owner();
    const { id: person, token, key } = somebody;
    const path = `/${person}`;
    const releases: (() => void)[] = [];
    behave(path, (_request, response, count) => {
      if (count === 1) releases.push(() => response.writeHead(500).end());
      else response.writeHead(204).end();
    });
    const draft = { url: origin + path, events: ['order.created'] };
    const made = await hooks<Webhook>('POST', '', draft, maker === 'person' ? token : key.key);
    t.equal(made.status, 201, made.text);
    const { id } = made.body;
    if (maker === 'of an earlier version') await asOfEarlierVersion(id);
    await publish('commerce.order.created', order('ord_1', person));
    await until(() => releases.length === 1, 5000);
    happens(somebody);
    releases[0]?.();
    const read = () => hooks<Webhook>('GET', `/${id}`, undefined, token);
    const deliveries = async () =>
      (await hooks<object>('GET', `/${id}/deliveries`, undefined, token)).body.data as Delivery[];
    await publish('commerce.order.created', order('ord_2', person));
    if (reason === null) {
      await until(async () => (await deliveries()).every((it) => it.status === 'succeeded'), 10_000);
      t.equal((await deliveries()).length, 2);
      t.match((await read()).body, { status: 'active', pause_reason: null });
      return;
    }
    const gone = reason === undefined;
    await until(async () => gone || (await deliveries())[0]?.status === 'skipped', 10_000);
    t.match(await read(), gone ? { status: 404 } : { body: { status: 'paused', pause_reason: reason } });
    const [first] = gone ? [] : await deliveries();
    for (const [action, body] of [
      ['test', undefined],
      ['replay', { from: new Date(0).toISOString() }],
      [`deliveries/${first?.id}/resend`, undefined],
    ] as const) {
      t.equal((await hooks('POST', `/${id}/${action}`, body, token)).status, gone ? 404 : 409, action);
    }
    t.equal(at(path).length, 1, 'nothing has been sent since');
    const listed = (await hooks('GET', '', undefined, token)).body.data as Webhook[];
    t.same(
      listed.map((it) => it.pause_reason),
      gone ? [] : [reason],
    );
    if (gone) {
      t.equal(await connection.collection('webhook_deliveries').countDocuments({ webhook: id }), 0);
      return;
    }
    const resumed = await hooks<Webhook>('PATCH', `/${id}`, { status: 'active' }, token);
    t.match(resumed.body, { status: 'active', pause_reason: null }, 'the owner takes it over');
    await hooks('POST', `/${id}/deliveries/${first?.id}/resend`, undefined, token);
    await until(async () => (await deliveries())[0]?.status === 'succeeded', 10_000);
  });
}

t.test('a test that waits is not sent either', async (t) => {
  const somebody = await owner();
  const path = `/${somebody.id}`;
  const releases: (() => void)[] = [];
  behave(path, (_request, response) => releases.push(() => response.writeHead(500).end()));
  const draft = { url: origin + path, events: ['order.*'] };
  const { id } = (await hooks<Webhook>('POST', '', draft, somebody.key.key)).body;
  await hooks('POST', `/${id}/test`, undefined, somebody.token);
  await until(() => releases.length === 1, 5000);
  keyEnded(somebody);
  releases[0]?.();
  const status = async () =>
    ((await hooks('GET', `/${id}/deliveries`, undefined, somebody.token)).body.data as Delivery[])[0]?.status;
  await until(async () => (await status()) === 'skipped', 10_000);
  t.equal(at(path).length, 1);
});

t.test('identity has what is done to a webhook in its audit log', async (t) => {
  const { id: person, app, token, key } = await owner();
  const of = (id: string) =>
    taken.filter((it) => (it.details as { webhook?: string }).webhook === id).map(({ id: _, ...it }) => it);
  const draft = { url: 'http://127.0.0.1:9/secret?token=x', events: ['order.*'] };
  const { id } = (await hooks<Webhook>('POST', '', draft, key.key)).body;
  await hooks('PATCH', `/${id}`, { description: 'Shop' }, token);
  await hooks('PATCH', `/${id}`, { url: 'http://127.0.0.1:8/' }, token);
  await hooks('PATCH', `/${id}`, { status: 'paused' }, token);
  await hooks('PATCH', `/${id}`, { status: 'active' }, token);
  await hooks('DELETE', `/${id}`, undefined, token);
  await until(() => of(id).length === 4, 10_000);
  const by = (client_id: string) => ({ user_id: person, client_id, address: '127.0.0.1' });
  const details = { webhook: id, host: '127.0.0.1:8', events: ['order.*'], status: 'active' };
  t.match(of(id), [
    { action: 'webhook.created', details: { ...details, host: '127.0.0.1:9' }, by: by(app) },
    { action: 'webhook.changed', details, by: by('app_web') },
    { action: 'webhook.changed', details, by: by('app_web') },
    { action: 'webhook.removed', details: { webhook: id, host: '127.0.0.1:8' }, by: by('app_web') },
  ]);
  t.same(new Set(of(id).map(({ subject }) => subject)), new Set([person]));
  t.notMatch(JSON.stringify(of(id)), 'secret');
  await until(async () => (await stored.findOne({ _id: id })) === null, 10_000);
});

t.test('a new application makes webhooks at once, and a person no more than the limit', async (t) => {
  const { id: person, token } = await owner();
  t.equal((await hooks('POST', '', { url: origin, events: ['order.*'] }, token)).status, 201);
  const app = newId('app');
  issuer.own(person, app);
  const { key } = issuer.apiKey({
    client_id: app,
    scopes: ['write:data'],
    trusted: false,
    owner: person,
    role: 'user',
  });
  const post = () => hooks('POST', '', { url: origin, events: ['order.*'] }, key);
  t.equal((await post()).status, 201, 'although the applications of the person are known');
  const statuses = (await Promise.all(Array.from({ length: 200 }, post))).map(({ status }) => status);
  const count = (status: number) => statuses.filter((it) => it === status).length;
  t.same([count(201), count(409)], [98, 102]);
});

t.test('payloads of events are shown while they may be read', async (t) => {
  const { id: person, token } = await owner();
  issuer.rights.set(person, { role: 'editor' });
  const { id } = (
    await hooks<Webhook>('POST', '', { url: `${origin}/shown`, events: ['order.created'] }, token)
  ).body;
  await publish('commerce.order.created', order('ord_3', BOB));
  const editor = await issuer.person(person, 'editor', `${SCOPES} manage:apps`);
  const shown = async (token: string) =>
    ((await hooks('GET', `/${id}/deliveries`, undefined, token)).body.data as Delivery[])[0]?.request;
  await until(async () => (await shown(editor)) !== undefined, 10_000);
  t.match(await shown(editor), { body: /ord_3/, reason: null });
  const hidden = { body: null, reason: 'You may not read this event.' };
  t.match(await shown(token), hidden, 'not to somebody who reads as a user');
  issuer.rights.delete(person);
  revoked('subject', person);
  t.match(await shown(editor), hidden, 'nor when the webhook may not deliver it any more');
});
