import { newId } from '@gatehouse/core/ids';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import type { Role } from '@gatehouse/tokens/scopes';
import t from 'tap';
import { BOB, build, type Delivery, SCOPES, type Webhook } from './build.ts';

const { hooks, issuer, publish, order, at, behave, origin, mongodbUri } = await build(t);
const { connection } = await startTestDatabase(t, { uri: mongodbUri, define: () => ({}) });
const stored = connection.collection<{ _id: string }>('webhooks');
const { taken } = issuer.queueActions;

/** Somebody who owns an application, in which a member has made credentials, too; and what identity says of them. */
async function owner(role: Role = 'user') {
  const id = newId('usr');
  const member = newId('usr');
  const app = newId('app');
  issuer.own(id, app);
  const resolved = {
    client_id: app,
    scopes: SCOPES.split(' '),
    trusted: false,
    owner: id,
    role: 'user',
  } as const;
  const [key, memberKey] = [
    issuer.apiKey({ ...resolved, role }),
    issuer.apiKey({ ...resolved, given_by: member }),
  ];
  const secret = newId('sec');
  const credential = (credentialId: string, given_by: string, role: Role) => ({
    ...{ ids: [credentialId], given_by, epoch: 0, role, scopes: SCOPES.split(' ') },
  });
  const state = {
    ...{ recovery: 0, authority: 0, owner: id },
    credentials: [
      credential(key.id, id, role),
      credential(memberKey.id, member, 'user'),
      credential(secret, member, 'user'),
    ],
  };
  const say = (changes: Partial<typeof state> = {}) => {
    const { owner: person, credentials, recovery, authority } = Object.assign(state, changes);
    const epochs = { recovery, authority };
    issuer.rights.set(id, { epochs, role });
    issuer.rights.set(app, { epochs, person, client_ids: [app], credentials, role });
  };
  /** Changes what identity says of some credentials; undefined ends one. */
  const change = (of: string[], changed: (it: Credential) => Credential | undefined) =>
    say({
      credentials: state.credentials.flatMap((it) =>
        it.ids.some((id) => of.includes(id)) ? (changed(it) ?? []) : it,
      ),
    });
  say();
  const claims = { sub: app, client_id: app, owner: id, roles: ['user'], scope: SCOPES };
  return {
    ...{ id, member, app, key, memberKey, secret, say, change },
    token: await issuer.person(id, role, `${SCOPES} manage:apps`),
    secretToken: await issuer.sign({ ...claims, credential_id: secret }),
  };
}
type Credential = { ids: string[]; given_by: string; epoch: number; role: Role; scopes: string[] };
type Owner = Awaited<ReturnType<typeof owner>>;

const revoked = (kind: 'subject' | 'client' | 'api_key', id: string) => issuer.revoke({ kind, id, epoch: 0 });
const recovered = ({ id, say }: Owner) => {
  say({ recovery: 1 });
  revoked('subject', id);
};
const keyEnded = ({ key, change }: Owner) => {
  change([key.id], () => undefined);
  revoked('api_key', key.id);
};
const ofMember = ({ memberKey, secret }: Owner) => [memberKey.id, secret];
const secretEnded = ({ app, secret, change }: Owner) => {
  change([secret], () => undefined);
  revoked('client', app);
};
const memberEnded = (owner: Owner) => {
  owner.change(ofMember(owner), () => undefined);
  revoked('client', owner.app);
};
const memberRecovered = (owner: Owner) => {
  owner.change(ofMember(owner), (it) => ({ ...it, epoch: 1 }));
  revoked('client', owner.app);
};
const takenOver = (owner: Owner) => {
  owner.change(ofMember(owner), (it) => ({ ...it, given_by: owner.id }));
  revoked('client', owner.app);
};
const ended = ({ id, say }: Owner) => {
  say({ authority: 1 });
  revoked('subject', id);
};
const transferred = ({ app, say }: Owner) => {
  say({ owner: BOB });
  revoked('client', app);
};
const rotated = ({ key, change }: Owner) => {
  change([key.id], (it) => ({ ...it, ids: ['its successor', key.id] }));
  revoked('api_key', key.id);
};

const MAKERS = {
  person: ({ token }: Owner) => token,
  application: ({ key }: Owner) => key.key,
  'member, by a key': ({ memberKey }: Owner) => memberKey.key,
  'member, by a secret': ({ secretToken }: Owner) => secretToken,
};
type Case = [
  name: string,
  maker: keyof typeof MAKERS,
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
  ['a member’s credentials end', 'application', memberEnded, null],
  ['the secret ends', 'member, by a secret', secretEnded, 'credential'],
  ['the secret of a key’s member ends', 'member, by a key', secretEnded, null],
  ...(['member, by a key', 'member, by a secret'] as const).flatMap((maker): Case[] => [
    ['the member’s credentials end', maker, memberEnded, 'credential'],
    ['the member is recovered', maker, memberRecovered, 'credential'],
    ['the owner takes the credentials over', maker, takenOver, 'credential'],
    ['the owner is recovered', maker, recovered, 'recovery'],
  ]),
];
for (const [name, maker, happens, reason] of cases) {
  t.test(`a webhook of ${maker}, when ${name}`, async (t) => {
    const somebody = await owner();
    const { id: person, token } = somebody;
    const path = `/${person}`;
    const releases: (() => void)[] = [];
    behave(path, (_request, response, count) => {
      if (count === 1) releases.push(() => response.writeHead(500).end());
      else response.writeHead(204).end();
    });
    const draft = { url: origin + path, events: ['order.created'] };
    const made = await hooks<Webhook>('POST', '', draft, MAKERS[maker](somebody));
    t.equal(made.status, 201, made.text);
    const { id } = made.body;
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

t.test('a webhook that a member of an admin’s application makes gets what the member may read', async (t) => {
  for (const maker of ['member, by a key', 'member, by a secret'] as const) {
    const admin = await owner('admin');
    const path = `/${newId('path')}`;
    const draft = { url: origin + path, events: ['order.created'] };
    const { id } = (await hooks<Webhook>('POST', '', draft, MAKERS[maker](admin))).body;
    const own = `/${newId('path')}`;
    await hooks('POST', '', { ...draft, url: origin + own }, admin.key.key);
    await publish('commerce.order.created', order(`ord_${id}`, BOB));
    await publish('commerce.order.created', order(`ord_own_${id}`, admin.id));
    await until(() => at(own).length === 2 && at(path).length > 0, 10_000);
    const from = new Date(0).toISOString();
    const replay = () => hooks<{ replayed: number }>('POST', `/${id}/replay`, { from }, MAKERS[maker](admin));
    // An event is listed a moment after it was stored.
    await until(async () => (await replay()).body.replayed === 1, 10_000);
    await until(() => at(path).length > 1, 10_000);
    for (const { body } of at(path)) t.match(body, `ord_own_${id}`, maker);
  }
});

t.test('a webhook gets no more than the scopes of the key or the token that made it', async (t) => {
  const staff = await owner('editor');
  const tokenOf = (scope: string) =>
    issuer.sign({
      ...{ sub: staff.app, client_id: staff.app, owner: staff.id, roles: ['editor'], scope },
      credential_id: staff.secret,
    });
  const [path, control] = [`/${newId('path')}`, `/${newId('path')}`];
  const draft = { url: origin + path, events: ['order.created'] };
  const refused = await hooks('POST', '', draft, await tokenOf('write:data'));
  t.match(refused, { status: 400, text: /This credential does not have the scope read:data/ });
  const signedIn = (scope: string) =>
    issuer.sign({ sub: staff.id, client_id: staff.app, roles: ['editor'], scope });
  t.equal((await hooks('POST', '', draft, await signedIn(SCOPES))).status, 403, 'of a consent');
  const narrow = await tokenOf('write:data read:users');
  const { id } = (await hooks<Webhook>('POST', '', { ...draft, events: ['*'] }, narrow)).body;
  await hooks('POST', '', { ...draft, url: origin + control }, staff.secretToken);
  await publish('commerce.order.created', order(`ord_${id}`, staff.id));
  await until(() => at(control).length === 1, 10_000);
  const from = new Date(0).toISOString();
  await hooks('POST', `/${id}/replay`, { from }, narrow);
  await publish('commerce.order.created', order(`ord_2${id}`, staff.id));
  await until(() => at(control).length === 2, 10_000);
  t.notMatch(JSON.stringify(at(path)), 'order.created');
});

t.test('whoever changes where a webhook sends becomes its giver', async (t) => {
  const changes: [
    what: string,
    (id: string, credential: string, path: string) => Promise<{ status: number }>,
  ][] = [
    ['URL', (id, by, path) => hooks('PATCH', `/${id}`, { url: origin + path }, by)],
    ['events', (id, by) => hooks('PATCH', `/${id}`, { events: ['order.*'] }, by)],
    ['secret', (id, by) => hooks('POST', `/${id}/rotate`, {}, by)],
  ];
  for (const [what, change] of changes) {
    for (const maker of ['member, by a key', 'member, by a secret'] as const) {
      const admin = await owner('admin');
      const [before, after] = [`/${newId('path')}`, `/${newId('path')}`];
      const draft = { url: origin + before, events: ['order.created'] };
      const { id } = (await hooks<Webhook>('POST', '', draft, admin.key.key)).body;
      t.equal((await change(id, MAKERS[maker](admin), after)).status, 200, what);
      await publish('commerce.order.created', order(`ord_${id}`, BOB));
      await publish('commerce.order.created', order(`ord_own_${id}`, admin.id));
      await until(() => at(before).length + at(after).length > 0, 10_000);
      for (const { body } of [...at(before), ...at(after)])
        t.match(body, `ord_own_${id}`, `${what}, ${maker}`);
      memberEnded(admin);
      const read = await hooks<Webhook>('GET', `/${id}`, undefined, admin.token);
      t.match(read.body, { status: 'paused', pause_reason: 'credential' });
    }
  }
});

t.test('a member makes 20 webhooks for an owner, who has room left', async (t) => {
  const somebody = await owner();
  const draft = { url: `${origin}/many`, events: ['order.*'] };
  const made = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      hooks<Webhook>('POST', '', draft, i % 2 === 0 ? somebody.memberKey.key : somebody.secretToken),
    ),
  );
  const [created, refused] = [201, 409].map((status) => made.filter((it) => it.status === status));
  t.same([created?.length, refused?.length], [20, 20]);
  t.match(refused?.[0]?.text, /20 webhooks already that you made for the owner/);
  for (const path of created?.slice(0, 2).map(({ body }) => `/${body.id}`) ?? []) {
    t.equal(
      (await hooks('PATCH', path, { url: `${origin}/taken` }, somebody.token)).status,
      200,
      'taken over',
    );
  }
  t.equal((await hooks('POST', '', draft, somebody.secretToken)).status, 201, 'there is room for another');
  t.equal((await hooks('POST', '', draft, somebody.token)).status, 201);
});

t.test('a token whose credential has ended makes no webhook', async (t) => {
  const somebody = await owner();
  memberEnded(somebody);
  const draft = { url: `${origin}/ended`, events: ['order.*'] };
  t.equal((await hooks('POST', '', draft, somebody.secretToken)).status, 401);
});

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
  const { id: person, app, token, key, member, memberKey } = await owner();
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
  t.notOk(of(id).some((it) => 'given_by' in it.details));
  const other = (await hooks<Webhook>('POST', '', draft, key.key)).body.id;
  await hooks('DELETE', `/${other}`, undefined, memberKey.key);
  await until(() => of(other).length === 2, 10_000);
  t.match(of(other)[1], { action: 'webhook.removed', details: { given_by: member } }, 'a member removed it');
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
    scopes: ['read:data', 'write:data'],
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
