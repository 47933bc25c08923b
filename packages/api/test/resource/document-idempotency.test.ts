import { createOnce } from '@gatehouse/api/resource/document-idempotency';
import { ServiceError, unavailable } from '@gatehouse/core/errors';
import type { EarlierCreation, IdempotencyKey } from '@gatehouse/domain/idempotency-key';
import t from 'tap';

type Found = EarlierCreation<string> | undefined;

const request = (key?: string, body: unknown = { a: 1 }, subject = 'usr_ann') =>
  ({
    ...{ headers: { 'idempotency-key': key }, body, method: 'POST', url: '/v2/things?x=1' },
    caller: { clientId: 'app', subject },
  }) as never;
const response = (created: string) => ({ status: 201, headers: {}, text: created });
const done = (created: string): Found => ({ state: 'done', created });
const taken = new ServiceError('conflict', 'taken');
const refused = new ServiceError('invalid', 'refused');
const broken = unavailable('broken');

t.test('the documents found before and after the creation decide', async (t) => {
  const cases: [label: string, found: Found[], created: string | Error, expected: object][] = [
    ['the first request', [undefined], 'new', { text: 'new', headers: {} }],
    ['a repeated one', [done('old')], 'new', { text: 'old', headers: { 'idempotency-replayed': 'true' } }],
    [
      'while the first one runs',
      [{ state: 'running' }],
      'new',
      { kind: 'conflict', headers: { 'retry-after': '1' } },
    ],
    ['with another body', [{ state: 'reused' }], 'new', { kind: 'idempotency_key_reused' }],
    ['refused', [undefined, undefined], refused, refused],
    ['refused, as another one was faster', [undefined, done('old')], refused, { text: 'old' }],
    [
      'the key was taken',
      [undefined, { state: 'running' }],
      taken,
      { kind: 'conflict', headers: { 'retry-after': '1' } },
    ],
    ['the key was taken, and is free', [undefined, undefined], taken, taken],
    ['failed', [undefined, done('old')], broken, broken],
  ];
  for (const [label, found, created, expected] of cases) {
    const left = [...found];
    const result = await createOnce(request('key'), {
      findByKey: async () => left.shift(),
      create: async () => (created instanceof Error ? Promise.reject(created) : created),
      response,
    }).catch((error: unknown) => error);
    t.match(result, expected, label);
  }
});

t.test('the stored fields of a key', async (t) => {
  const keys: (IdempotencyKey | undefined)[] = [];
  const ask = async (...args: Parameters<typeof request>) => {
    const findByKey = async () => undefined;
    const create = async (key: IdempotencyKey | undefined) => {
      keys.push(key);
      return 'new';
    };
    await createOnce(request(...args), { findByKey, create, response });
    return keys.at(-1);
  };
  t.equal(await ask(), undefined, 'nothing without a key');
  const key = await ask('my-key');
  t.match(key, { id: /^[\w-]{43}$/, fingerprint: /^[\w-]{43}$/ });
  const hours = ((key?.expiresAt.getTime() ?? 0) - Date.now()) / 3_600_000;
  t.ok(hours > 23.9 && hours <= 24);
  t.match(await ask('my-key', { a: 1 }), { id: key?.id, fingerprint: key?.fingerprint });
  const other = await ask('my-key', { a: 2 });
  t.equal(other?.id, key?.id);
  t.not(other?.fingerprint, key?.fingerprint);
  t.not((await ask('my-key', { a: 1 }, 'usr_bob'))?.id, key?.id);
  t.match(await ask('not valid').catch((error: unknown) => error), { kind: 'invalid' });
});
