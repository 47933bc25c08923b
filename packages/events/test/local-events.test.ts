import { type OutboxEvent, outboxEvent } from '@gatehouse/data/outbox';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import t, { type Test } from 'tap';
import { createLocalEvents } from '../src/local-events.ts';

function setUp() {
  const { logger, lines } = recordingLogger();
  return { events: createLocalEvents({ logger }), lines };
}

async function subjectsTaken(t: Test, pattern: string, subjects: readonly string[]): Promise<string[]> {
  const events = createLocalEvents();
  const taken: string[] = [];
  const end = events.subscribe(pattern, ({ subject }) => taken.push(subject));
  t.teardown(end);
  for (const subject of subjects) await events.publish(outboxEvent(subject, {}));
  return taken;
}

const SUBJECTS = ['users', 'users.user', 'users.user.created', 'users.user.deleted', 'users.account.changed'];
const PATTERNS: [pattern: string, expected: string[]][] = [
  ['users.user.created', ['users.user.created']],
  ['users.user.*', ['users.user.created', 'users.user.deleted']],
  ['users.*.changed', ['users.account.changed']],
  ['*.*.*', ['users.user.created', 'users.user.deleted', 'users.account.changed']],
  ['*', ['users']],
  ['users.user.>', ['users.user.created', 'users.user.deleted']],
  ['users.>', ['users.user', 'users.user.created', 'users.user.deleted', 'users.account.changed']],
  ['*.user.>', ['users.user.created', 'users.user.deleted']],
  ['>', SUBJECTS],
  ['orders.>', []],
  ['users.use.*', []],
];

t.test('subjects with wildcards', async (t) => {
  for (const [pattern, expected] of PATTERNS) {
    t.same(await subjectsTaken(t, pattern, SUBJECTS), expected, pattern);
  }
});

t.test('invalid subjects', async (t) => {
  const { events } = setUp();
  for (const subject of ['', '.', 'users.', '.users', 'users..x', 'users.>.x', 'us*', 'users.x>', 'a b']) {
    t.throws(() => events.subscribe(subject, () => {}), { name: 'TypeError' }, `'${subject}'`);
  }
  await t.rejects(events.publish(outboxEvent('users.*', {})), { name: 'TypeError' });
});

t.test('each handler gets the event, as a copy of its own, as JSON would carry it', async (t) => {
  const { events, lines } = setUp();
  const event = outboxEvent('users.user.created', {
    user_id: 'usr_1',
    nested: { list: [1] },
    left: undefined,
  });
  const got: OutboxEvent[] = [];
  for (let i = 0; i < 2; i += 1) {
    events.subscribe('users.user.*', (event) => {
      got.push(structuredClone(event));
      event.data.user_id = 'another';
      event.at.setTime(0);
    });
  }
  await events.publish(event);
  const expected = { ...event, data: { user_id: 'usr_1', nested: { list: [1] } } };
  t.strictSame(got, [expected, expected]);
  t.not(event.at.getTime(), 0);
  t.same(lines, []);
});

t.test('publish waits for the handlers', async (t) => {
  const { events } = setUp();
  const gate = Promise.withResolvers<void>();
  events.subscribe('x', () => gate.promise);
  let published = false;
  const publishing = events.publish(outboxEvent('x', {})).then(() => {
    published = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(published, false);
  gate.resolve();
  await publishing;
  t.equal(published, true);
});

t.test('one that fails keeps no other from the event, and publish rejects', async (t) => {
  const { events, lines } = setUp();
  const taken: string[] = [];
  let broken = true;
  events.subscribe('x', () => {
    if (broken) throw new Error('at once');
    taken.push('first');
  });
  events.subscribe('x', async () => {
    await null;
    if (broken) throw new Error('later');
    taken.push('second');
  });
  events.subscribe('x', () => taken.push('third'));
  const event = outboxEvent('x', {});
  for (let i = 0; i < 3; i += 1) {
    await t.rejects(events.publish(event), { errors: [{ message: 'at once' }, { message: 'later' }] });
  }
  t.same(taken, ['third', 'third', 'third']);
  t.equal(lines.length, 2, 'one line for each that begins to fail');
  const about = { level: 'warn', event: event.id, subject: 'x', handles: 'x' };
  t.match(lines[0], { ...about, err: { message: 'at once' } });
  broken = false;
  await events.publish(event);
  t.same(taken.slice(3).sort(), ['first', 'second', 'third'], 'all get it anew');
  t.match(lines.slice(2), [{ level: 'info' }, { level: 'info' }], 'and when it works again');
  t.equal(lines.length, 4);
});

t.test('who has left gets no more, also where a handler listens twice', async (t) => {
  const { events } = setUp();
  let calls = 0;
  const handler = () => {
    calls += 1;
  };
  const leave = events.subscribe('x', handler);
  events.subscribe('x', handler);
  await events.publish(outboxEvent('x', {}));
  t.equal(calls, 2);
  leave();
  leave();
  await events.publish(outboxEvent('x', {}));
  t.equal(calls, 3);
});

t.test('nobody listens: the event is let go', async (t) => {
  const { events } = setUp();
  await t.resolves(events.publish(outboxEvent('x', {})));
});
