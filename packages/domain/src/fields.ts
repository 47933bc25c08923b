/**
 * The fields of an entity, declared once: its type is EntityOf them, and packages/data reads and writes its documents, and plans
 * its lists, by them (see createDocumentMapper). Documents are not validated, because only our own code writes them. Values from callers are validated by the rules made from `input`.
 */
export type Fields = Readonly<Record<string, AnyField>>;

/**
 * A field of an entity, whose values have type T, and Stored in documents.
 *
 * @param Name its name in documents, where that is not the property's in snake case
 * @param Absent whether documents may lack it
 * @param Listed whether lists are filtered and sorted by it
 * @param Input how callers set it, if they do
 */
export type Field<
  T,
  Stored = T,
  Name extends string | undefined = undefined,
  Absent extends boolean = false,
  Listed extends boolean = false,
  Input extends InputUse | undefined = undefined,
> = {
  readonly definition: FieldDefinition &
    (Input extends undefined ? unknown : { input: Input }) & {
      types?: { value: T; stored: Stored; name: Name };
    };
  readonly flags?: { absent: Absent; listed: Listed };
  /** Gives it another name in documents. */
  stored<N extends string>(name: N): Field<T, Stored, N, Absent, Listed, Input>;
  /** Its value where a document lacks it; with null, it may be null. */
  default<const D extends T | null>(
    value: D,
  ): Field<T | Extract<D, null>, Stored | Extract<D, null>, Name, true, Listed, Input>;
  /** It is undefined where a document lacks it. */
  optional(): Field<T | undefined, Stored, Name, true, Listed, Input>;
  /** Lists are filtered and sorted by it. */
  list(use?: ListUse): Field<T, Stored, Name, Absent, true, Input>;
  /** It is stored in another form. */
  convert<V>(conversion: Conversion<T, V>): Field<V, Stored, Name, Absent, Listed, Input>;
  /** Callers set it. */
  input<const I extends InputUse<T>>(use: I): Field<T, Stored, Name, Absent, Listed, I>;
};

/** How lists use a field, unless they compare its values as they are stored. */
export type ListUse = {
  /** The field of documents that is compared, if it is another one, such as one with foldedKeys. */
  stored?: string;
  type?: 'folded';
  /** The key of a text, where that is not its foldedKey. */
  key?: (text: string) => string;
  unique?: true;
  /** Begins the unique keys of documents without a value. */
  missingPrefix?: string;
  /** The value that most documents have. */
  mostCommon?: string | boolean;
  index?: string;
};

/** How callers set a field, and forms show it. */
export type InputUse<T = unknown> = {
  /** Its name in forms. */
  label: string;
  /** Its value in a new entity, unless it is given; without one, it has to be. */
  initial?: T;
  /** The most characters (code points) of a text, or the highest whole number, of which 0 is the lowest. */
  max?: number;
  /** Whether searches look for its words. */
  searched?: true;
};

type Conversion<S, V> = { read: (stored: S) => V; write: (value: V) => S };

export type FieldDefinition = {
  type: 'string' | 'number' | 'boolean' | 'date' | 'enum' | 'value';
  /** The values of an enum. */
  values?: readonly string[];
  /** Its parts, each of which is a field of the document, of a field in it, or of each entry of an array in it. */
  parts?: { fields: Fields; in: 'document' | 'field' | 'array' };
  stored?: string;
  fallback?: unknown;
  isOptional?: boolean;
  list?: ListUse;
  input?: InputUse;
  conversion?: Conversion<never, unknown>;
};

/** Stands for the fields of a document that are the parts of a group. */
type Group<F> = { group: F };

/** The properties of every Field; its methods depend on its types. */
type AnyField = { readonly definition: FieldDefinition };

export const text = () => field<string>({ type: 'string' });
export const number = () => field<number>({ type: 'number' });
export const boolean = () => field<boolean>({ type: 'boolean' });
export const date = () => field<Date>({ type: 'date' });

/** One of a few texts. */
export const oneOf = <const V extends string>(values: readonly V[]) => field<V>({ type: 'enum', values });

/** Anything that is stored as it is, such as an array of texts. */
export const value = <T>() => field<T>({ type: 'value' });

/** The id of a document. */
export const id = () => text().stored('_id').list({ unique: true });

/** An object whose parts are fields of the document itself. It is absent where its first part is. */
export function group<const F extends Fields>(fields: F) {
  return field<EntityOf<F>, Group<F>>({ type: 'value', parts: { fields, in: 'document' } });
}

/** An object in a field of its own. */
export function object<const F extends Fields>(fields: F) {
  return field<EntityOf<F>, StoredOf<F>>({ type: 'value', parts: { fields, in: 'field' } });
}

/** An array of objects. */
export function listOf<const F extends Fields>(fields: F) {
  return field<readonly EntityOf<F>[], StoredOf<F>[]>({ type: 'value', parts: { fields, in: 'array' } });
}

function field<T, S = T>(definition: FieldDefinition): Field<T, S> {
  const changed = (changes: Partial<FieldDefinition>) => field({ ...definition, ...changes });
  const methods = {
    stored: (stored: string) => changed({ stored }),
    default: (fallback: unknown) => changed({ fallback }),
    optional: () => changed({ isOptional: true }),
    list: (list: ListUse = {}) => changed({ list }),
    convert: (conversion: Conversion<never, unknown>) => changed({ conversion }),
    input: (input: InputUse) => changed({ input }),
  };
  return { definition, ...methods } as unknown as Field<T, S>;
}

/** A property's name as fields are named in the database: `createdAt` is `created_at`. */
export function inSnakeCase(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The values of the fields that documents may lack, where they do. */
export function defaultsOf<F extends Fields>(fields: F): DefaultsOf<F> {
  const absent = Object.entries(fields).filter(
    ([, { definition }]) => definition.isOptional || definition.fallback !== undefined,
  );
  return Object.fromEntries(
    absent.map(([name, { definition }]) => [name, definition.fallback]),
  ) as DefaultsOf<F>;
}

/** The fields that callers set, in their order. */
export function inputsOf<F extends Fields>(
  fields: F,
): { name: InputFieldOf<F>; definition: FieldDefinition; input: InputUse }[] {
  return Object.entries(fields).flatMap(([name, { definition }]) => {
    const { input } = definition;
    return input === undefined ? [] : [{ name: name as InputFieldOf<F>, definition, input }];
  });
}

/** The values of a new entity that callers may leave out. */
export function initialsOf<F extends Fields>(fields: F): InitialsOf<F> {
  const optional = inputsOf(fields).filter(({ input }) => input.initial !== undefined);
  return Object.fromEntries(optional.map(({ name, input }) => [name, input.initial])) as InitialsOf<F>;
}

/** The type of an entity with these fields. */
export type EntityOf<F> = {
  [K in keyof F]: F[K] extends { readonly definition: { types?: { value: infer T } } } ? T : never;
};

/** The names of the fields that lists are filtered and sorted by. */
export type ListFieldOf<F> = {
  [K in keyof F]: F[K] extends { readonly flags?: { listed: true } } ? K : never;
}[keyof F] &
  string;

/** The names of the fields that callers set: all, or those that are used as in I. */
export type InputFieldOf<F, I = unknown> = {
  [K in keyof F]: F[K] extends { readonly definition: { input: InputUse & I } } ? K : never;
}[keyof F] &
  string;

/** The input of a new entity: what callers have to give, and what they may. */
export type NewOf<F> = Pick<EntityOf<F>, Exclude<InputFieldOf<F>, keyof InitialsOf<F>>> &
  Partial<InitialsOf<F>>;
type InitialsOf<F> = Pick<EntityOf<F>, InputFieldOf<F, { initial: unknown }>>;

type DefaultsOf<F> = {
  [K in keyof F as F[K] extends { readonly flags?: { absent: true } } ? K : never]: EntityOf<F>[K];
};

/** The type of documents with these fields. */
export type StoredOf<F> = Flat<
  { [K in keyof F as NameIn<K, F[K], false>]: StoredIn<F[K]> } & {
    [K in keyof F as NameIn<K, F[K], true>]?: StoredIn<F[K]>;
  } & Intersection<{ [K in keyof F]: PartsOf<F[K]> }[keyof F]>
>;

type NameIn<K, F, Absent extends boolean> = F extends {
  readonly definition: { types?: { stored: infer S; name: infer N } };
  readonly flags?: { absent: Absent };
}
  ? [Extract<S, Group<Fields>>] extends [never]
    ? N extends string
      ? N
      : SnakeCase<K & string>
    : never
  : never;
type StoredIn<F> = F extends { readonly definition: { types?: { stored: infer S } } } ? S : never;
type PartsOf<F> = [Extract<StoredIn<F>, Group<Fields>>] extends [Group<infer P>] ? StoredOf<P> : unknown;

type SnakeCase<S extends string> = S extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : '';
type Intersection<U> = (U extends unknown ? (it: U) => void : never) extends (it: infer I) => void
  ? I
  : never;
type Flat<T> = { [K in keyof T]: T[K] };
