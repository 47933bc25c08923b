import { Readable } from 'node:stream';
import fc from 'fast-check';
import t from 'tap';
import { jsonElements } from '../../src/import/json-elements.ts';

/** The elements of a document that comes in chunks of a size. */
async function read(text: string, options: { size?: number; limit?: number } = {}): Promise<unknown[]> {
  const { size = 7, limit = 1_000_000 } = options;
  const bytes = Buffer.from(text);
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    bytes.subarray(i * size, (i + 1) * size),
  );
  const elements = jsonElements(Readable.from(chunks), { name: 'users', limit });
  const found: unknown[] = [];
  for await (const bytes of elements) found.push(bytes && JSON.parse(bytes.toString()));
  return found;
}

t.test('the elements of any document in chunks of any size are those that JSON.parse finds', async (t) => {
  const object = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 3 }));
  await fc.assert(
    fc.asyncProperty(
      ...([object, fc.array(object, { maxLength: 5 }), object] as const),
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom(undefined, 1),
      async (before, users, after, size, indent) => {
        const document = { ...before, users, nested: { users: [1] }, ...after, list: [{ users: [{}] }] };
        const expected = Object.hasOwn(after, 'users') ? undefined : users;
        if (expected === undefined) return;
        t.same(
          await read(JSON.stringify(document, null, indent), { size }),
          JSON.parse(JSON.stringify(users)),
        );
      },
    ),
    { numRuns: 500 },
  );
});

t.test('the lists of all objects of a list', async (t) => {
  t.same(await read('[{"users":[{"a":1}],"x":{"users":[{"b":2}]}},{"users":[]},{"users":[{"c":3},{}]}]'), [
    { a: 1 },
    { c: 3 },
    {},
  ]);
});

t.test('an element that is too large is left out, and the next one is read', async (t) => {
  const text = JSON.stringify({
    users: [{ a: 'x'.repeat(200) }, { b: 'y'.repeat(85) }, { c: 'z'.repeat(93) }],
  });
  for (const size of [1, 30, 1000]) {
    t.same(await read(text, { size, limit: 100 }), [undefined, { b: 'y'.repeat(85) }, undefined]);
  }
});

t.test('what is no such document', async (t) => {
  for (const [text, message] of [
    ['', /no JSON document with a list users/],
    ['{}', /no JSON document with a list users/],
    ['{"users":{}}', /no JSON document with a list users/],
    ['{"user":[{}]}', /no JSON document with a list users/],
    ['{"x":{"users":[{}]}}', /no JSON document with a list users/],
    ['["users",[{}]]', /no JSON document with a list users/],
    ['{"users":[{"a":1}', /ends before the JSON document does/],
    ['{"users":[{"a":1}]', /ends before/],
    ['{"users":[{"a":"', /ends before/],
    ['{"users":[1]}', /has an element that is no JSON object/],
    ['{"users":["x"]}', /no JSON object/],
    ['{"users":[[{}]]}', /no JSON object/],
  ] as const) {
    await t.rejects(read(text), { message }, text);
  }
});
