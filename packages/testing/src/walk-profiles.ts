import type { Test } from 'tap';

type View = { properties?: readonly string[] };
type Body = { schema: object };
type Profile = {
  name: string;
  list?: { item: View };
  create?: { body: Body; response: View };
  read?: View;
  update?: { method: string; body: Body; response: View };
};
type Schema = {
  type?: string | readonly string[];
  enum?: readonly unknown[];
  properties?: Readonly<Record<string, Schema>>;
};
type Values = Readonly<Record<string, unknown>>;

/** The resource, as far as the walk has to know it. */
type Walked = {
  paths: readonly { prefix: string; profiles: readonly Profile[] }[];
  call(
    method: string,
    path: string,
    token: string,
    body?: unknown,
  ): Promise<{ status: number; body: { id: string } }>;
  token: string;
  /** The values of the fields of a new body, by their names, where not any value of their type will do. */
  values?(method: string): Values;
  /** The fields that nobody can read. */
  secret?: readonly string[];
  /** Creates an entity, to be changed. Returns its id. */
  create(): Promise<string>;
  /** All that can be read of an entity, by the names of the fields in bodies. */
  read(id: string): Promise<object>;
  /** The fields of the entity, and those among them that no profile shows. */
  stored: object;
  internal: readonly string[];
};

/**
 * Tests that a resource loses no field: with each operation of each profile that takes a body, all documented fields are sent and
 * read again, and each stored field is shown by a profile or internal.
 */
export function walkProfiles(t: Test, resource: Walked): void {
  const { paths, call, token, values, secret = [], create, read, stored, internal } = resource;
  const all = paths.flatMap(({ prefix, profiles }) => profiles.map((profile) => ({ prefix, ...profile })));

  t.test('each stored field is shown by a profile, or internal', async (t) => {
    const views = all.flatMap((it) => [it.list?.item, it.create?.response, it.read, it.update?.response]);
    const shown = new Set(views.flatMap((view) => view?.properties ?? []));
    const hidden = Object.keys(stored).filter((name) => !shown.has(name));
    t.same(hidden.toSorted(), internal.toSorted());
  });

  for (const { prefix, name, create: creation, update } of all) {
    const bodies = [
      ...(creation ? [{ method: 'POST', body: creation.body }] : []),
      ...(update ? [{ method: update.method, body: update.body }] : []),
    ];
    for (const { method, body } of bodies) {
      t.test(`${method} ${prefix}, profile ${name}: each field that is taken can be read`, async (t) => {
        const sent = sampleOf(body.schema, values?.(method) ?? {});
        const path = method === 'POST' ? prefix : `${prefix}/${await create()}`;
        const written = await call(method, path, token, sent);
        t.ok(written.status < 300, JSON.stringify(written.body));
        const id = method === 'POST' ? written.body.id : path.slice(prefix.length + 1);
        const readable = Object.entries(sent).filter(([field]) => !secret.includes(field));
        t.match(await read(id), Object.fromEntries(readable));
      });
    }
  }
}

/** A body with every field of its schema. */
function sampleOf({ properties = {} }: Schema, values: Values): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name,
      Object.hasOwn(values, name) ? values[name] : anyValueOf(name, schema, values),
    ]),
  );
}

function anyValueOf(name: string, schema: Schema, values: Values): unknown {
  if (schema.enum !== undefined) return schema.enum.at(-1);
  if (schema.properties !== undefined) return sampleOf(schema, values);
  const types = [schema.type].flat();
  if (types.includes('string')) return `A ${name}`;
  if (types.includes('integer') || types.includes('number')) return 7;
  throw new Error(`The walk needs a value of ${name}.`);
}
