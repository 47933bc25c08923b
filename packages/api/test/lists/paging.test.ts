import {
  bareArray,
  cursorEnvelope,
  type Envelope,
  offsetEnvelope,
  pageEnvelope,
  pageEnvelopeWithPages,
} from '@gatehouse/api/lists/paging';
import { Ajv } from 'ajv';
import t from 'tap';
import { Type } from 'typebox';

const Item = Type.Object({ id: Type.String() });
const ABOUT = { total: 41, limit: 20, offset: 40, page: 3 };

const ENVELOPES: [name: string, envelope: Envelope, text: string][] = [
  ['a bare array', bareArray, '[{"id":"a"},{"id":"b"}]'],
  [
    'offset',
    offsetEnvelope,
    '{"data":[{"id":"a"},{"id":"b"}],"pagination":{"limit":20,"offset":40,"total":41}}',
  ],
  [
    'page with the number of pages',
    pageEnvelopeWithPages,
    '{"data":[{"id":"a"},{"id":"b"}],"meta":{"total":41,"limit":20,"page":3,"pages":3}}',
  ],
  ['page', pageEnvelope, '{"data":[{"id":"a"},{"id":"b"}],"meta":{"total":41,"page":3,"limit":20}}'],
];

t.test('each envelope, its keys in the order of the interface', async (t) => {
  for (const [name, envelope, text] of ENVELOPES) {
    t.equal(envelope.write('{"id":"a"},{"id":"b"}', ABOUT), text, name);
  }
});

t.test('how many pages there are', async (t) => {
  const pages = (total: number, limit: number) =>
    JSON.parse(pageEnvelopeWithPages.write('', { total, limit, offset: 0, page: 1 }));
  for (const [total, limit, expected] of [
    [0, 20, 0],
    [1, 20, 1],
    [20, 20, 1],
    [21, 20, 2],
    [100, 1, 100],
  ] as const) {
    t.equal(pages(total, limit).meta.pages, expected, `${total} by ${limit}`);
  }
});

t.test('no answer fits two shapes', async (t) => {
  const ajv = new Ajv({ formats: { 'uri-reference': true } });
  const shapes = [...ENVELOPES.map(([, { schema }]) => schema(Item)), cursorEnvelope.schema(Item)];
  const checks = shapes.map((schema) => ajv.compile(schema));
  const meta = { totalItems: 1, itemsPerPage: 1, currentPage: 1, hasNextPage: false, hasPrevPage: false };
  const cursor = { data: [{ id: 'a' }], links: {}, meta };
  t.strictSame(
    checks.map((check) => check(cursor)),
    [false, false, false, false, true],
  );
  for (const [i, [name, { write }]] of ENVELOPES.entries()) {
    const fitting = checks.map((check) => check(JSON.parse(write('{"id":"a"}', ABOUT))));
    t.equal(fitting[i], true, name);
    t.equal(fitting.at(-1), false, name);
  }
});
