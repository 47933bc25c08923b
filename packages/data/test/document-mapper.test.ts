import {
  boolean,
  date,
  defaultsOf,
  group,
  id,
  listOf,
  number,
  object,
  oneOf,
  text,
  value,
} from '@gatehouse/domain/fields';
import t from 'tap';
import { createDocumentMapper } from '../src/document-mapper.ts';

const at = new Date('2026-01-02T03:04:05Z');
const FIELDS = {
  id: id(),
  firstName: text().default(null).list({ stored: 'first_key', type: 'folded' }),
  role: oneOf(['user', 'admin']).list({ mostCommon: 'user' }),
  price: number().stored('price_minor').list({ stored: 'price' }),
  isOpen: boolean().default(false),
  tags: value<readonly string[]>().default([]),
  subject: text().optional(),
  lines: listOf({ productId: text(), note: text().default(null) }),
  trust: object({ ownerRole: text(), at: date() }).optional(),
  lastUse: group({ at: date().stored('last_used_at'), address: text().stored('last_address') }).default(null),
  epoch: group({ client: number().stored('client_epoch'), user: number().stored('user_epoch') }),
  category: text().convert<string | null>({
    read: (stored) => (stored === '' ? null : stored),
    write: (category) => category ?? '',
  }),
  createdAt: date().list(),
};
const mapper = createDocumentMapper(FIELDS);

const ENTITY: Parameters<typeof mapper.write>[0] = {
  id: 'a',
  firstName: 'Ann',
  role: 'admin',
  price: 1250,
  isOpen: true,
  tags: ['x'],
  subject: 'Hello',
  lines: [
    { productId: 'p', note: null },
    { productId: 'q', note: 'soon' },
  ],
  trust: { ownerRole: 'admin', at },
  lastUse: { at, address: '::1' },
  epoch: { client: 1, user: 2 },
  category: null,
  createdAt: at,
};
const DOCUMENT: ReturnType<typeof mapper.write> = {
  first_name: 'Ann',
  role: 'admin',
  price_minor: 1250,
  is_open: true,
  tags: ['x'],
  subject: 'Hello',
  lines: [
    { product_id: 'p', note: null },
    { product_id: 'q', note: 'soon' },
  ],
  trust: { owner_role: 'admin', at },
  last_used_at: at,
  last_address: '::1',
  client_epoch: 1,
  user_epoch: 2,
  category: '',
  created_at: at,
};

t.test('a document has the fields of its entity, under their names in documents', async (t) => {
  t.strictSame(mapper.write(ENTITY), DOCUMENT);
  t.strictSame(mapper.read({ _id: 'a', ...DOCUMENT }), ENTITY);
  t.strictSame(Object.keys(mapper.projection), Object.keys(DOCUMENT));
});

t.test('a missing field of a document has its default', async (t) => {
  const { first_name: _, is_open, tags, subject, trust, last_used_at, last_address, ...rest } = DOCUMENT;
  const absent = { ...{ firstName: null, isOpen: false, tags: [], subject: undefined }, trust: undefined };
  t.strictSame(mapper.read({ _id: 'a', ...rest } as never), { ...ENTITY, ...absent, lastUse: null });
  t.strictSame(defaultsOf(FIELDS), { ...absent, lastUse: null });
  // A projection may leave out fields that documents have.
  t.match(mapper.read({ _id: 'a' } as never), { id: 'a', role: undefined, lines: undefined });
});

t.test('absent properties of an entity are not stored, or stored as null', async (t) => {
  const written = mapper.write({ ...ENTITY, subject: undefined, trust: undefined, lastUse: null });
  const { subject: _, trust: __, ...rest } = DOCUMENT;
  t.strictSame(written, { ...rest, last_used_at: null, last_address: null });
});

t.test('an update sets what is given, and removes what is given as undefined', async (t) => {
  t.strictSame(mapper.update({ firstName: null, epoch: { client: 3, user: 4 } }), {
    $set: { first_name: null, client_epoch: 3, user_epoch: 4 },
  });
  t.strictSame(mapper.update({ price: 5, trust: undefined }), {
    $set: { price_minor: 5 },
    $unset: { trust: 1 },
  });
});

t.test('lists and projections know the names in documents', async (t) => {
  t.strictSame(mapper.listFields, {
    id: { stored: '_id', type: 'string', unique: true },
    firstName: { stored: 'first_key', type: 'folded' },
    role: { stored: 'role', type: 'enum', values: ['user', 'admin'], mostCommon: 'user' },
    price: { stored: 'price', type: 'number' },
    createdAt: { stored: 'created_at', type: 'date' },
  });
  t.strictSame(mapper.storedAs('price'), ['price_minor']);
  t.strictSame(mapper.storedAs('lastUse'), ['last_used_at', 'last_address']);
});
