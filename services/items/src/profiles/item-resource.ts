import { plainBody } from '@gatehouse/api/http/error-bodies';
import type { JsonText } from '@gatehouse/api/http/json-body';
import { documentedLimits } from '@gatehouse/api/http/schema';
import { filtersOf } from '@gatehouse/api/lists/filters';
import { bareArray, cursorEnvelope } from '@gatehouse/api/lists/paging';
import {
  type ListProfile,
  type Profile,
  requestBody,
  type View,
  view,
} from '@gatehouse/api/resource/profile';
import type { Resource, ResourcePath } from '@gatehouse/api/resource/resource';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { Type } from 'typebox';
import {
  ITEM,
  type Item,
  type ItemChanges,
  type ItemField,
  NAME_LIMITS,
  NAME_MAX,
  type NewItem,
  VALUE_MAX,
} from '../item.ts';
import type { ItemService } from '../item-service.ts';

type ItemTypes = { entity: Item; field: ItemField; draft: NewItem; changes: ItemChanges };

const READ = ['read:data', 'read:all'];
const WRITE = ['write:data'];

const Id = Type.String({ description: 'Opaque.' });
const Name = Type.String({
  description: `1 to ${NAME_MAX} characters, not only spaces.`,
  ...documentedLimits(NAME_LIMITS),
  examples: ['colours'],
});
const Value = Type.Unknown({
  description: `Any JSON value of at most ${VALUE_MAX} bytes. It is kept exactly as sent, with all digits of numbers and the order of keys.`,
});
const VALUE = { colours: ['red', 'blue'], price: 12.5 };

const Fields = { id: Id, name: Type.String(), value: Value };

/** Written without a schema, so that the value is exactly as it was sent. */
const item: View<Item> = {
  name: 'Item',
  schema: Type.Object(Fields),
  show: ({ id, name, value }) => ({ id, name, value: JSON.parse(value) }),
  write: ({ id, name, value }) => `{"id":"${id}","name":${JSON.stringify(name)},"value":${value}}`,
  properties: ['id', 'name', 'value'],
};
const detail: View<Item> = {
  name: 'ItemDetail',
  schema: Type.Object({ ...Fields, created_at: Type.String({ format: 'date-time' }) }),
  show: (entity) => ({ ...(item.show(entity) as object), created_at: entity.createdAt.toISOString() }),
  write: (entity) => `${item.write(entity).slice(0, -1)},"created_at":"${entity.createdAt.toISOString()}"}`,
  properties: ['id', 'name', 'value', 'createdAt'],
};
const written = (name: string, message: string) =>
  view(name, Type.Object({ id: Id, message: Type.String() }), ({ id }: Item) => ({ id, message }));

const rules: Omit<ListProfile<ItemTypes>['rules'], 'paging'> = {
  filters: filtersOf(ITEM),
  legacy: true,
};

const byOffset: Profile<ItemTypes> = {
  name: 'offset',
  about: 'the list as a bare array by offset, and all operations on one item',
  errorBody: plainBody,
  list: { rules: { ...rules, paging: 'offset' }, envelope: bareArray, item },
  create: {
    body: requestBody('NewItem', Type.Object({ name: Name, value: Value }), {
      example: { name: 'colours', value: VALUE },
      verbatim: 'value',
      read: ({ name, value }) => ({ name, value: textOf(value) }),
    }),
    response: written('ItemCreated', 'Item created.'),
  },
  read: detail,
  update: {
    method: 'PUT',
    body: requestBody(
      'ItemChanges',
      Type.Object({ name: Type.Optional(Name), value: Type.Optional(Value) }),
      {
        example: { value: VALUE },
        verbatim: 'value',
        read: ({ name, value }) =>
          omitUndefined({ name, value: value === undefined ? undefined : textOf(value) }),
      },
    ),
    response: written('ItemUpdated', 'Item updated.'),
  },
  remove: true,
};

const byCursor: Profile<ItemTypes> = {
  name: 'cursor',
  about: 'the list in the cursor envelope',
  errorBody: plainBody,
  list: { rules: { ...rules, paging: 'cursor' }, envelope: cursorEnvelope, item },
};

export const ITEM_PATHS: readonly ResourcePath<ItemTypes>[] = [
  { prefix: '/api/v1/items', idName: 'item_id', pin: 'items', profiles: [byOffset, byCursor] },
];

/** Items as a resource. The use cases check the access to each item. */
export function createItemResource(items: ItemService): Resource<ItemTypes> {
  return {
    noun: { one: 'an item', many: 'items' },
    idPrefix: 'itm',
    paths: ITEM_PATHS,
    operations: {
      list: { scopes: READ, source: items.listFor },
      create: { scopes: WRITE, run: items.create },
      read: { scopes: READ, run: items.read },
      update: { scopes: WRITE, run: items.update },
      remove: { scopes: WRITE, run: items.remove },
    },
    example: {
      id: 'itm_06f2k1c8w0h3v5n7q9t1x3z5b7',
      ownerId: null,
      name: 'colours',
      value: JSON.stringify(VALUE),
      version: 1,
      createdAt: new Date('2026-03-01T09:30:00Z'),
      updatedAt: new Date('2026-03-01T09:30:00Z'),
    },
  };
}

function textOf(value: unknown): string {
  return (value as JsonText).text;
}
