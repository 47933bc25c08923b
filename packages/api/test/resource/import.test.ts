import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { v2Body } from '@gatehouse/api/http/error-bodies';
import { createApp } from '@gatehouse/api/resource/app';
import { mountResource } from '@gatehouse/api/resource/mount-resource';
import { requestBody, view } from '@gatehouse/api/resource/profile';
import { ServiceError } from '@gatehouse/core/errors';
import { logger } from '@gatehouse/testing/test-logger';
import type { Caller } from '@gatehouse/tokens/caller';
import fc from 'fast-check';
import t from 'tap';
import { Type } from 'typebox';

type Draft = { key?: string; ms: number; error?: string };
type Types = { entity: { id: string; version: number }; field: 'id'; draft: Draft; changes: object };

/** What has been run, as [key, the place of the line in the body]. */
let ran: [key: string | undefined, index: number][] = [];
let running = 0;
let mostRunning = 0;

const app = createApp({ logger, errorBodyFor: () => v2Body, translate: () => undefined });
const Thing = Type.Object({ id: Type.String() });
const draft = Type.Object({
  index: Type.Integer(),
  ms: Type.Integer(),
  key: Type.Optional(Type.String()),
  error: Type.Optional(Type.String()),
});
mountResource<Types>(
  app,
  {
    noun: { one: 'a thing', many: 'things' },
    idPrefix: 'thg',
    example: { id: 'thg_1', version: 1 },
    paths: [
      {
        prefix: '/v2/things',
        profiles: [
          {
            name: 'latest',
            about: '',
            errorBody: v2Body,
            create: {
              body: requestBody('NewThing', draft, {
                example: { index: 0, ms: 0 },
                read: (body): Draft => body,
              }),
              response: view('Thing', Thing, ({ id }) => ({ id })),
            },
          },
        ],
      },
    ],
    operations: {
      create: {
        scopes: ['write:data'],
        run: async ({ id }) => ({ id, version: 1 }),
        import: {
          description: '',
          authorize() {},
          keyOf: ({ key }) => key,
          async run({ key, ms, error, ...more }) {
            running += 1;
            mostRunning = Math.max(mostRunning, running);
            await sleep(ms);
            running -= 1;
            ran.push([key, (more as unknown as { index: number }).index]);
            if (error === 'fault') throw new Error('secret');
            if (error !== undefined) throw new ServiceError('conflict', error);
            return { id: 'thg_1', isNew: key === undefined };
          },
        },
      },
    },
  },
  {
    authenticate: async (request) => {
      request.caller = { scopes: new Set(['write:data']) } as unknown as Caller;
    },
    idempotencyKeys: undefined as never,
    concurrency: undefined as never,
  },
);

async function responsesTo(drafts: readonly Draft[]) {
  [ran, mostRunning] = [[], 0];
  const payload = drafts.map((draft, index) => JSON.stringify({ ...draft, index })).join('\n');
  const headers = { 'content-type': 'application/x-ndjson' };
  const { body } = await app.inject({ method: 'POST', url: '/v2/things', payload, headers });
  return body
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

t.test('answers in the order of the lines, and drafts of one key in their order', async (t) => {
  const line = fc.record(
    {
      ms: fc.constantFrom(0, 1, 8),
      key: fc.constantFrom('a', 'b', 'c'),
      error: fc.constantFrom('taken', 'fault'),
    },
    { requiredKeys: ['ms'] },
  );
  let most = 0;
  const property = fc.asyncProperty(fc.array(line, { maxLength: 60 }), async (drafts) => {
    const responses = await responsesTo(drafts);
    assert.deepEqual(
      responses.map(({ line, status }) => [line, status]),
      drafts.map(({ key, error }, i) => [
        i + 1,
        error !== undefined ? 'refused' : key === undefined ? 'created' : 'updated',
      ]),
    );
    for (const key of ['a', 'b', 'c']) {
      const indexes = ran.filter(([it]) => it === key).map(([, index]) => index);
      assert.deepEqual(
        indexes,
        indexes.toSorted((a, b) => a - b),
      );
    }
    assert.ok(!JSON.stringify(responses).includes('secret'));
    assert.equal(running, 0);
    most = Math.max(most, mostRunning);
  });
  await fc.assert(property, { numRuns: 40 });
  t.ok(most > 1 && most <= 32, `${most} at a time`);
});

t.test('a line that is refused has the error body of the path', async (t) => {
  t.same(await responsesTo([{ ms: 0, error: 'It is taken.' }]), [
    { line: 1, status: 'refused', error: { code: 'conflict', message: 'It is taken.' } },
  ]);
});
