import { newId } from '@gatehouse/core/ids';
import type { JobState } from '@gatehouse/data/job-document';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';
import { ALL, build } from './build.ts';

// No job is worked on: what is replayed waits.
const { mongodbUri, call, issuer } = await build(t, { slots: 0 });
const { queueActions } = issuer;
const admin = await issuer.person('usr_admin', 'admin', ALL);
const key = issuer.apiKey({ scopes: ['write:data'], trusted: false, owner: 'usr_boss', role: 'admin' }).key;

const { connection } = await startTestDatabase(t, { uri: mongodbUri });
const lanes = connection.collection<{ _id: string; outbox?: unknown[] }>('lanes');

/** A new dead letter; returns its id. */
async function deadLetter(lane: string): Promise<string> {
  const [_id, now] = [newId('ntf'), new Date()];
  const dead = { at: now, error: 'The gateway failed.' };
  const place = { lane, priority: 'high', owner: 'usr_ann', since: now, due: null, holder: null } as const;
  const job: JobState = { ...place, attempts: 8, dead };
  await connection
    .collection<{ _id: string }>('notifications')
    .insertOne({ _id, status: 'failed', version: 1, job } as never);
  return _id;
}

const LANE = '/api/v1/queues/messages/sms';
const LETTERS = '/api/v1/dead-letters';
const sms = { queue: 'messages', lane: 'sms' };

t.test('who is refused hears of the role, and an admin of the scope', async (t) => {
  const user = await issuer.person('usr_ann', 'user', 'read:data write:data');
  t.match((await call('GET', LETTERS, user)).body, { error: 'This is for admins.' });
  t.match((await call('GET', LETTERS, key)).body, { error: 'This needs the scope read:all.' });
});

t.test('identity has each action when it is answered, and none that changes nothing', async (t) => {
  const [a, b, c, d] = [
    await deadLetter('sms'),
    await deadLetter('email'),
    await deadLetter('sms'),
    await deadLetter('sms'),
  ];
  await deadLetter('email');
  await deadLetter('sms');
  type Told = [action: string, details: object][];
  const rows: [string, method: string, path: string, body: object | undefined, status: number, Told][] = [
    ['resumed, and was not paused', 'PUT', LANE, { paused: false }, 200, []],
    ['paused', 'PUT', LANE, { paused: true }, 200, [['queue.paused', sms]]],
    ['paused already', 'PUT', LANE, { paused: true }, 200, []],
    ['resumed', 'PUT', LANE, { paused: false }, 200, [['queue.resumed', sms]]],
    ['resumed already', 'PUT', LANE, { paused: false }, 200, []],
    ['paused again', 'PUT', LANE, { paused: true }, 200, [['queue.paused', sms]]],
    ['an unknown lane', 'PUT', '/api/v1/queues/messages/fax', { paused: true }, 404, []],
    [
      ...(['replayed', 'POST', LETTERS, { ids: [a, 'ntf_unknown', b, c, a] }, 200] as const),
      [
        ['dead_letters.replayed', { ...sms, ids: [a, c] }],
        ['dead_letters.replayed', { ...sms, lane: 'email', ids: [b] }],
      ],
    ],
    ['replayed already', 'POST', LETTERS, { ids: [a] }, 200, []],
    [
      ...(['removed', 'DELETE', `${LETTERS}/${d}`, undefined, 204] as const),
      [['dead_letters.removed', { ...sms, ids: [d] }]],
    ],
    ['removed already', 'DELETE', `${LETTERS}/${d}`, undefined, 404, []],
    [
      ...(['a lane is purged', 'DELETE', `${LETTERS}?queue=messages&lane=sms`, undefined, 200] as const),
      [['dead_letters.purged', { queue: 'messages', lanes: ['sms'], number: 1 }]],
    ],
    [
      ...(['a queue is purged', 'DELETE', `${LETTERS}?queue=messages`, undefined, 200] as const),
      [['dead_letters.purged', { queue: 'messages', lanes: ['email', 'sms', 'push'], number: 1 }]],
    ],
    ['an unknown lane is purged', 'DELETE', `${LETTERS}?queue=messages&lane=fax`, undefined, 404, []],
    ['an unknown queue', 'DELETE', `${LETTERS}?queue=letters`, undefined, 404, []],
  ];
  for (const [name, method, path, body, status, told] of rows) {
    queueActions.taken.length = 0;
    const response = await call(method, path, admin, body, { 'user-agent': 'Console/1' });
    t.equal(response.status, status, name);
    const { taken } = queueActions;
    t.same(
      taken.map(({ action, details }) => [action, details]),
      told,
      name,
    );
    for (const { id, by } of taken) {
      t.match(id, /^evt_[0-9a-z]{26}$/);
      t.match(by, { user_id: 'usr_admin', client_id: 'app_web', address: '127.0.0.1' }, name);
      t.match(by, { user_agent: 'Console/1', request_id: /^req_/ }, name);
    }
  }
  t.same(await lanes.find({ 'outbox.0': { $exists: true } }).toArray(), [], 'nothing waits');
});

t.test('many who pause a lane at once pause it once', async (t) => {
  queueActions.taken.length = 0;
  const pause = () => call('PUT', '/api/v1/queues/messages/push', admin, { paused: true });
  const responses = await Promise.all(Array.from({ length: 8 }, pause));
  t.same([...new Set(responses.map(({ status }) => status))], [200]);
  t.same(
    queueActions.taken.map(({ action }) => action),
    ['queue.paused'],
  );
});

t.test('while identity is away, actions are stored, and are delivered when it is back', async (t) => {
  queueActions.taken.length = 0;
  queueActions.away = true;
  const id = await deadLetter('sms');
  const begin = performance.now();
  t.equal((await call('PUT', LANE, admin, { paused: false })).status, 200);
  t.equal((await call('DELETE', `${LETTERS}/${id}`, key)).status, 204);
  t.ok(performance.now() - begin < 3000, 'it waits for a moment only');
  t.equal((await lanes.findOne({ _id: 'messages_sms' }))?.outbox?.length, 2);
  queueActions.away = false;
  await until(() => queueActions.taken.length === 2, 10_000);
  t.match(queueActions.taken, [
    { action: 'queue.resumed', by: { user_id: 'usr_admin' } },
    { action: 'dead_letters.removed', details: { ...sms, ids: [id] }, by: { user_id: 'usr_boss' } },
  ]);
});
