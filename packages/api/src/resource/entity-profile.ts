import type { Fields, ListFieldOf } from '@gatehouse/domain/fields';
import { type TProperties, type TSchema, Type } from 'typebox';
import { type FilterFields, filtersOf } from '../lists/filters.ts';
import { type RequestBody, requestBody, type View, view } from './profile.ts';

/** How a property of an entity, or of its drafts and changes, is in requests and responses. */
export type PropertyShape<T = never> = {
  /** Its schema in bodies of requests, and an example of its value. */
  input?: TSchema;
  example?: unknown;
  /** Its value in a body as the use case takes it, unless that is the same. */
  take?(sent: never): unknown;
  /** Its schema in responses, where dates are written as ISO 8601. If it is optional, null is left out. */
  output?: TSchema;
  /** Its value in responses, unless that is the entity's. */
  show?(entity: T): unknown;
  /** Its name in requests and responses, where that does not follow the profile's. */
  name?: string;
};

/** Properties in their order; those of an object are under the name of the object, as in `{ profile: ['firstName'] }`. */
export type Picked<P extends string> = readonly (P | Readonly<Record<string, readonly P[]>>)[];

/**
 * Makes the views, bodies and filters of profiles from the fields of an entity and the shapes of its properties, so that a profile
 * only picks and names them.
 *
 * @param nameOf the name of a property in requests and responses
 */
export function createEntityProfile<T extends object, E extends Fields, P extends string>(
  entity: E,
  shapes: Readonly<Record<P, PropertyShape<T>>>,
  nameOf: (property: string) => string = (property) => property,
) {
  const named = (property: P) => shapes[property].name ?? nameOf(property);
  const flat = (picked: Picked<P>): P[] =>
    picked.flatMap((it) => (typeof it === 'string' ? it : Object.values(it).flat()));

  function schemaOf(property: P, of: 'input' | 'output'): TSchema {
    const schema = shapes[property][of];
    if (schema === undefined) throw new Error(`The property ${property} has no ${of}.`);
    return schema;
  }

  /** The fields of a body or a response, in which those of an object are together. */
  function fieldsOf(
    picked: Picked<P>,
    of: 'input' | 'output',
    wrap = (schema: TSchema) => schema,
  ): TProperties {
    return Object.fromEntries(
      picked.flatMap((it) =>
        typeof it === 'string'
          ? [[named(it), wrap(schemaOf(it, of))]]
          : Object.entries(it).map(([name, parts]) => [name, wrap(Type.Object(fieldsOf(parts, of, wrap)))]),
      ),
    );
  }

  /** The values of the picked properties, under their names. */
  function shown(picked: Picked<P>, read: (property: P) => unknown): Record<string, unknown> {
    const fields: Record<string, unknown> = {};
    for (const it of picked) {
      if (typeof it === 'string') {
        const value = read(it);
        if (value === undefined || (value === null && Type.IsOptional(shapes[it].output))) continue;
        fields[named(it)] = value instanceof Date ? value.toISOString() : value;
      } else {
        for (const [name, parts] of Object.entries(it)) fields[name] = shown(parts, read);
      }
    }
    return fields;
  }

  /** The values of a body by property. Absent fields are left out. */
  function valuesOf(picked: Picked<P>, body: Record<string, unknown>): Record<string, unknown> {
    const values: Record<string, unknown> = {};
    for (const it of picked) {
      if (typeof it === 'string') {
        const { take = (sent: unknown) => sent } = shapes[it];
        const value = body[named(it)];
        if (value !== undefined) values[it] = take(value as never);
      } else {
        for (const [name, parts] of Object.entries(it))
          Object.assign(values, valuesOf(parts, Object(body[name])));
      }
    }
    return values;
  }

  return {
    /** A view of the picked properties. */
    view: (name: string, picked: Picked<P & keyof T>): View<T> =>
      view<T, TSchema>(
        name,
        Type.Object(fieldsOf(picked, 'output')),
        (entity) =>
          shown(picked, (property) => {
            const { show } = shapes[property];
            return show === undefined ? entity[property as P & keyof T] : show(entity as T);
          }),
        flat(picked) as (P & keyof T & string)[],
      ),

    /**
     * A body of the required and the optional properties, which is read into these.
     *
     * @param of.example by default that of each property
     */
    body<D extends object>(
      name: string,
      of: { required?: Picked<P>; optional?: Picked<P>; example?: unknown },
    ): RequestBody<D> {
      const { required = [], optional = [] } = of;
      const all = [...required, ...optional];
      const schema = Type.Object({
        ...fieldsOf(required, 'input'),
        ...fieldsOf(optional, 'input', Type.Optional),
      });
      const example = of.example ?? shown(all, (property) => shapes[property].example);
      return requestBody(name, schema, {
        example: example as never,
        read: (body) => valuesOf(all, body as Record<string, unknown>) as D,
      });
    },

    /** The filters of lists by these properties; by default by all that lists have. */
    filters: (properties?: readonly ListFieldOf<E>[]): FilterFields<ListFieldOf<E>> =>
      filtersOf(entity, properties, (field) => shapes[field as string as P]?.name ?? nameOf(field)),
  };
}
