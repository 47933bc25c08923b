import { setImmediate } from 'node:timers/promises';
import t from 'tap';
import { createCircuit } from '../src/circuit.ts';
import { sendOnce } from '../src/notifications/channels/channel.ts';
import { failureOf, readRetryAfter } from '../src/notifications/channels/http-failure.ts';
import { ProviderError } from '../src/notifications/channels/provider.ts';
import { createPushChannel } from '../src/notifications/channels/push-channel.ts';
import { subjectOf } from '../src/notifications/channels/smtp-provider.ts';
import type { Notification } from '../src/notifications/notification.ts';
import type { PushSubscription } from '../src/notifications/push/push-subscription.ts';

function clock() {
  const time = { now: 1_000_000 };
  return { time, circuit: createCircuit({ now: () => time.now }) };
}

t.test(
  'a circuit opens after failures in a row at several messages, and admits one probe at a time',
  async (t) => {
    const { time, circuit } = clock();
    for (const id of ['a', 'b', 'a', 'b']) t.notOk(circuit.failed(id, 'down'));
    t.notOk(circuit.isOpen());
    t.ok(circuit.failed('c', 'down'));
    t.match(circuit.failure(), { error: 'down', since: new Date(time.now) });
    t.equal(circuit.admit(), 1000);
    time.now += 1000;
    t.notOk(circuit.isOpen(), 'a probe is due');
    t.equal(circuit.admit(), undefined, 'the probe');
    t.ok(circuit.isOpen());
    t.ok((circuit.admit() ?? 0) > 0, 'no second one');
    circuit.failed('d', 'still down');
    t.equal(circuit.admit(), 2000, 'twice as long');
    t.match(circuit.failure(), { error: 'still down', since: new Date(1_000_000) });
    time.now += 2000;
    t.equal(circuit.admit(), undefined);
    circuit.undecided();
    t.equal(circuit.admit(), undefined, 'a probe that tells nothing makes way for another');
    circuit.succeeded();
    t.same([circuit.admit(), circuit.admit(), circuit.failure()], [undefined, undefined, undefined]);
  },
);

t.test('one message at which the provider fails does not open it', async (t) => {
  const { circuit } = clock();
  for (let i = 0; i < 20; i += 1) t.notOk(circuit.failed('poisoned', 'failed'));
  circuit.succeeded();
  for (const id of ['a', 'b', 'c', 'd']) t.notOk(circuit.failed(id, 'failed'), 'a success ends the row');
});

t.test('the pause between probes ends at a minute', async (t) => {
  const { time, circuit } = clock();
  for (const id of ['a', 'b', 'c', 'd', 'e']) circuit.failed(id, 'down');
  for (let i = 0; i < 12; i += 1) {
    time.now += 60_000;
    t.equal(circuit.admit(), undefined);
    circuit.failed('a', 'down');
  }
  t.equal(circuit.admit(), 60_000);
});

t.test('a message may be accepted from the moment that the provider gets it', async (t) => {
  const seen: boolean[] = [];
  const sending = { signal: AbortSignal.timeout(1000), mayBeAccepted: (may: boolean) => void seen.push(may) };
  const message = { id: 'ntf_1', text: 'Hello', isUrgent: false };
  const error = (mayBeAccepted: boolean) => new ProviderError('failing', 'It failed.', { mayBeAccepted });
  for (const [thrown, expected] of [
    [undefined, [true]],
    [error(true), [true, true]],
    [error(false), [true, false]],
    [new Error('a fault of ours'), [true, true]],
  ] as const) {
    seen.length = 0;
    const provider = {
      async send() {
        t.same(seen, [true], 'before');
        if (thrown !== undefined) throw thrown;
        return { providerId: null };
      },
      async check() {},
      stop() {},
    };
    await sendOnce(provider, message, '', sending).catch(() => {});
    t.same(seen, expected);
  }
});

t.test('a push message may be accepted as long as one of its push services may have it', async (t) => {
  const hosts = ['accepts', 'refuses', 'hangs'];
  const subscriptions = hosts.map((host) => ({
    id: host,
    endpoint: `https://${host}.example/`,
    by: { epoch: {} },
  }));
  const refused = Promise.withResolvers<void>();
  const hanging = Promise.withResolvers<{ providerId: null }>();
  const channel = createPushChannel({
    provider: {
      async send(_message, { endpoint }) {
        if (endpoint.includes('hangs')) return hanging.promise;
        if (endpoint.includes('accepts')) return { providerId: null };
        queueMicrotask(refused.resolve);
        throw new ProviderError('unreachable', 'It is away.');
      },
      async check() {},
      stop() {},
    },
    recipients: {
      exists: async () => true,
      contactsOf: async () => ({ email: null, phone: null, epoch: 0 }),
    },
    subscriptionsOf: async () => subscriptions as unknown as PushSubscription[],
    async forget() {},
  });
  const seen: boolean[] = [];
  const sending = { signal: AbortSignal.timeout(1000), mayBeAccepted: (may: boolean) => void seen.push(may) };
  const sent = channel.send({ id: 'ntf_1', userId: 'usr_1', message: 'Hello' } as Notification, sending);
  await refused.promise;
  await setImmediate();
  t.equal(seen.length, 4, 'given to three, refused by one');
  t.equal(seen.at(-1), true);
  hanging.resolve({ providerId: null });
  await sent;
});

t.test('the meaning of responses of a provider', async (t) => {
  const cases: [status: number, kind: string | undefined, mayBeAccepted: boolean][] = [
    [200, undefined, false],
    [201, undefined, false],
    [301, 'failing', false],
    [303, 'failing', true],
    [400, 'rejected', false],
    [401, 'unreachable', false],
    [403, 'rejected', false],
    [404, 'rejected', false],
    [408, 'temporary', false],
    [413, 'rejected', false],
    [429, 'throttled', false],
    [500, 'failing', true],
    [502, 'failing', true],
    [503, 'failing', false],
  ];
  for (const [status, kind, mayBeAccepted] of cases) {
    const failure = failureOf('It', status, null);
    t.equal(failure?.kind, kind, String(status));
    t.equal(failure?.mayBeAccepted ?? false, mayBeAccepted, String(status));
  }
});

t.test('Retry-After', async (t) => {
  const now = Date.parse('2026-03-01T09:30:00Z');
  const cases: [value: string | null | undefined, expected: number | undefined][] = [
    ['2', 2000],
    ['0', 0],
    ['999999999', 3_600_000],
    ['Sun, 01 Mar 2026 09:30:05 GMT', 5000],
    ['Sun, 01 Mar 2026 09:29:00 GMT', 0],
    ['soon', undefined],
    ['-1', undefined],
    ['', undefined],
    [null, undefined],
    [undefined, undefined],
  ];
  for (const [value, expected] of cases) t.equal(readRetryAfter(value, now), expected, String(value));
});

t.test('the subject of a mail is the first line of its text', async (t) => {
  const cases: [text: string, subject: string][] = [
    ['Hello', 'Hello'],
    ['\n  Hello \r\nBcc: eve@example.org', 'Hello'],
    [`${'x'.repeat(77)} y z`, `${'x'.repeat(77)}…`],
    ['😀'.repeat(78), '😀'.repeat(78)],
    ['One\u2028two', 'One'],
  ];
  for (const [text, subject] of cases) t.equal(subjectOf(text), subject);
});
