import { alternatives } from '@gatehouse/api/openapi/alternatives';
import type { Shape } from '@gatehouse/api/openapi/operation';
import t from 'tap';
import { type TSchema, Type } from 'typebox';

const { String: Text, Integer, Optional } = Type;
const object = Type.Object;

/** Writes the groups: `|` between alternatives, `&` between shapes that the same value can match. */
function groups(schemas: Record<string, TSchema>, side: 'written' | 'read'): string {
  const shapes = Object.entries(schemas).map(([name, schema]): Shape => ({ name, schema }));
  const write = (schema: object): string => {
    const { $ref, anyOf, oneOf } = schema as { $ref?: string; anyOf?: object[]; oneOf?: object[] };
    return $ref ?? (oneOf === undefined ? anyOf?.map(write).join('&') : oneOf.map(write).join('|')) ?? '?';
  };
  return write(alternatives(shapes, side, ({ name }) => ({ $ref: name })));
}

const A = object({ id: Text(), username: Text(), createdAt: Text() });
const E = object({ id: Text(), name: Text(), createdAt: Text() });
const G = object({ id: Text(), name: Text(), created_at: Text() });
const cursor = (item: TSchema) => object({ data: Type.Array(item), meta: object({ totalItems: Integer() }) });

const CLOSED = { additionalProperties: false };

const CASES: [label: string, schemas: Record<string, TSchema>, expected: string][] = [
  ['one', { A }, 'A'],
  ['each requires a property that the others do not have', { A, E, G }, 'A|E|G'],
  ['the same', { a: A, b: A }, 'a&b'],
  ['one has all required properties of the other', { a: A, b: object({ id: Text() }) }, 'a&b'],
  [
    'one may have the required property of the other',
    { a: object({ x: Optional(Text()) }), b: object({ x: Text() }) },
    'a&b',
  ],
  ['another type of a field', { a: object({ x: Text() }), b: object({ x: Integer() }) }, 'a|b'],
  ['whole numbers are numbers', { a: object({ x: Type.Number() }), b: object({ x: Integer() }) }, 'a&b'],
  [
    'an optional field of another type',
    { a: object({ x: Text() }), b: object({ x: Optional(Integer()) }) },
    'a|b',
  ],
  ['other values', { a: object({ x: Type.Enum(['a', 'b']) }), b: object({ x: Type.Literal('c') }) }, 'a|b'],
  ['shared values', { a: object({ x: Type.Enum(['a', 'b']) }), b: object({ x: Type.Literal('b') }) }, 'a&b'],
  [
    'both can be null',
    {
      a: object({ x: Type.Union([Text(), Type.Null()]) }),
      b: object({ x: Type.Union([Integer(), Type.Null()]) }),
    },
    'a&b',
  ],
  [
    'unions that are disjoint',
    { a: object({ x: Type.Union([Text(), Type.Null()]) }), b: object({ x: Integer() }) },
    'a|b',
  ],
  [
    'several types',
    { a: object({ x: Type.Unsafe({ type: ['string', 'null'] }) }), b: object({ x: Type.Null() }) },
    'a&b',
  ],
  ['empty lists', { a: Type.Array(A), b: Type.Array(E) }, 'a&b'],
  ['a list and an object', { a: Type.Array(A), b: cursor(A) }, 'a|b'],
  ['envelopes of empty lists', { a: cursor(A), b: cursor(E) }, 'a&b'],
  [
    'envelopes with other insides',
    { a: cursor(A), b: object({ data: Type.Array(A), meta: object({ total: Integer() }) }) },
    'a|b',
  ],
  ['groups', { a: Type.Array(A), b: cursor(A), c: Type.Array(E), d: cursor(E), e: A }, 'a&c|b&d|e'],
  [
    'groups joined by a third',
    { a: object({ x: Text() }), b: object({ y: Text() }), c: object({ x: Text(), y: Text() }) },
    'a&b&c',
  ],
  ['anything', { a: A, b: Type.Unknown() }, 'a&b'],
  [
    'no additional properties in one',
    { a: object({ x: Text() }, CLOSED), b: object({ x: Text(), y: Text() }) },
    'a|b',
  ],
];

t.test('written: oneOf, except for shapes that the same value can match', async (t) => {
  for (const [label, schemas, expected] of CASES) t.equal(groups(schemas, 'written'), expected, label);
});

/** A value that is read may have additional properties: only contradictory properties distinguish two shapes. */
const READ: typeof CASES = [
  ['one', { A }, 'A'],
  ['with all required properties of each', { A, E, G }, 'A&E&G'],
  [
    'another type of a field that both require',
    { a: object({ x: Text() }), b: object({ x: Integer() }) },
    'a|b',
  ],
  [
    'another type of a field that one does not require',
    { a: object({ x: Text() }), b: object({ x: Optional(Integer()) }) },
    'a|b',
  ],
  [
    'another type of a field that neither requires',
    { a: object({ x: Optional(Text()) }), b: object({ x: Optional(Integer()) }) },
    'a&b',
  ],
  [
    'other values',
    { a: object({ x: Type.Enum(['a']) }), b: object({ x: Type.Literal('c'), y: Text() }) },
    'a|b',
  ],
  ['a union', { a: Type.Union([Text(), object({ x: Text() })]), b: object({ y: Text() }) }, 'a&b'],
  ['a union on the other side', { a: object({ y: Text() }), b: Type.Union([Text(), Integer()]) }, 'a|b'],
  ['no additional properties in one', { a: object({ x: Text() }, CLOSED), b: object({ y: Text() }) }, 'a|b'],
  [
    'no additional properties in the other',
    { a: object({ x: Text() }), b: object({ y: Text() }, CLOSED) },
    'a|b',
  ],
  ['a list and an object', { a: Type.Array(A), b: A }, 'a|b'],
  ['anything', { a: A, b: Type.Unknown() }, 'a&b'],
];

t.test('read: only contradictory properties distinguish shapes', async (t) => {
  for (const [label, schemas, expected] of READ) t.equal(groups(schemas, 'read'), expected, label);
});
