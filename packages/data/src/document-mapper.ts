import {
  type EntityOf,
  type FieldDefinition,
  type Fields,
  inSnakeCase,
  type ListFieldOf,
  type StoredOf,
} from '@gatehouse/domain/fields';
import type { ListField } from './list-fields.ts';

/** Reads and writes the documents of entities. */
export type DocumentMapper<F extends Fields> = {
  /** The projection of reads: all fields. */
  projection: Readonly<Record<string, 1>>;
  /** The entity of a document. Properties that a projection has left out are undefined, or have their defaults. */
  read(document: StoredOf<F>): EntityOf<F>;
  /** The fields of a document but for its id. Those of a group that is null are null. */
  write(entity: EntityOf<F>): Omit<StoredOf<F>, '_id'>;
  /** The update that makes these changes: `undefined` removes a field that may be. */
  update(changes: Partial<EntityOf<F>>): { $set: Partial<StoredOf<F>>; $unset?: Record<string, 1> };
  /** The names in documents of a property's fields. */
  storedAs(property: string): readonly string[];
  /** The fields of lists, for createListPlan. */
  listFields: Record<ListFieldOf<F>, ListField>;
};

/** A field, prepared for the documents of many entities. */
type Column = Omit<FieldDefinition, 'stored'> & {
  name: string;
  stored: string;
  /** The fields of the document that are its parts. */
  group?: readonly Column[];
  /** Convert its values, unless they are absent. */
  read?: (stored: never) => unknown;
  write?: (value: never) => unknown;
};

/** A mapper for the documents of an entity with these fields. */
export function createDocumentMapper<const F extends Fields>(fields: F): DocumentMapper<F> {
  const columns = columnsOf(fields);
  const written = columns.filter(({ stored }) => stored !== '_id');
  const listed = columns.filter(({ list }) => list !== undefined);
  const ofProperty = new Map(columns.map((column) => [column.name, storedNames([column])]));
  return {
    projection: Object.fromEntries(storedNames(written).map((name) => [name, 1])),
    read: compileRead(columns) as DocumentMapper<F>['read'],
    write: (entity) => writeColumns(written, entity) as Omit<StoredOf<F>, '_id'>,
    update(changes) {
      const changed = written.filter(({ name }) => changes[name] !== undefined);
      const removed = written.filter(
        ({ name, isOptional }) => isOptional && Object.hasOwn(changes, name) && changes[name] === undefined,
      );
      const $set = writeColumns(changed, changes) as Partial<StoredOf<F>>;
      if (removed.length === 0) return { $set };
      return { $set, $unset: Object.fromEntries(storedNames(removed).map((name) => [name, 1])) };
    },
    storedAs: (property) => ofProperty.get(property) ?? [inSnakeCase(property)],
    listFields: Object.fromEntries(
      listed.map(({ name, stored, type, values, list }) => {
        const compared = type === 'enum' ? { stored, type, values } : { stored, type };
        return [name, { ...compared, ...list }];
      }),
    ) as DocumentMapper<F>['listFields'],
  };
}

function columnsOf(fields: Fields): Column[] {
  return Object.entries(fields).map(([name, { definition }]) => {
    const column = { ...definition, name, stored: definition.stored ?? inSnakeCase(name) };
    if (definition.parts === undefined) return { ...column, ...definition.conversion };
    const parts = columnsOf(definition.parts.fields);
    if (definition.parts.in === 'document') return { ...column, group: parts };
    const read = compileRead(parts);
    const write = (entity: object | null) => entity && writeColumns(parts, entity);
    if (definition.parts.in === 'field') return { ...column, read, write };
    return {
      ...column,
      read: (documents: object[]) => documents.map(read),
      write: (entities: readonly object[] | null) => entities?.map(write) ?? null,
    };
  });
}

/** The names of the fields in documents. */
function storedNames(columns: readonly Column[]): string[] {
  return columns.flatMap(({ stored, group }) => (group === undefined ? [stored] : storedNames(group)));
}

function writeColumns(
  columns: readonly Column[],
  entity: object | null | undefined,
  document: Record<string, unknown> = {},
): Record<string, unknown> {
  for (const { name, stored, group, isOptional, write } of columns) {
    const value = (entity as Record<string, unknown> | null | undefined)?.[name];
    if (value === undefined && isOptional) continue;
    if (group !== undefined) writeColumns(group, value as object | null | undefined, document);
    else if (value === undefined) document[stored] = null;
    else document[stored] = write ? write(value as never) : value;
  }
  return document;
}

/**
 * A function that makes an object of a document. It is compiled: it has the speed of an object literal that names each field, of
 * which a loop over the fields takes twenty times as long.
 */
function compileRead(columns: readonly Column[]): (document: object) => object {
  const constants: unknown[] = [];
  const constant = (value: unknown) => `constants[${constants.push(value) - 1}]`;

  function propertyOf({ stored, group, isOptional, fallback, read }: Column): string {
    const own = `document[${JSON.stringify(stored)}]`;
    const absent = isOptional ? 'undefined' : fallback === undefined ? undefined : constant(fallback);
    // It may be null, which is not the same as undefined.
    if (isOptional && fallback === null) return own;
    if (group !== undefined) {
      const [first] = storedNames(group);
      const whole = objectOf(group);
      return absent === undefined
        ? whole
        : `document[${JSON.stringify(first)}] == null ? ${absent} : ${whole}`;
    }
    if (read !== undefined) return `${own} == null ? ${absent ?? own} : ${constant(read)}(${own})`;
    return absent === undefined ? own : `${own} ?? ${absent}`;
  }

  function objectOf(ofObject: readonly Column[]): string {
    const properties = ofObject.map((column) => `${JSON.stringify(column.name)}: ${propertyOf(column)}`);
    return `{ ${properties.join(', ')} }`;
  }

  const body = `return (document) => (${objectOf(columns)});`;
  return new Function('constants', body)(constants) as (document: object) => object;
}
