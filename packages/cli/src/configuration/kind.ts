import type { ApiClient } from '../api-client.ts';

/** A JSON Schema, as far as it is read here. */
export type Schema = {
  type?: string | string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  'x-gatehouse'?: About;
  'x-gatehouse-fixed'?: boolean;
};

/** The way in which the objects of a kind are read and written (services/dashboard/src/docs/configuration-schema.ts). */
type About = {
  path: string;
  id: string;
  name: string;
  updates: boolean;
  within?: string;
  restsOn?: string[];
  shown?: Record<string, string>;
  references?: Record<string, string>;
  secrets?: string[];
  unmanaged?: Record<string, unknown>;
  upserts?: boolean;
  fulfilledBy?: string;
};

/** A kind of objects of a deployment, with its fields in configuration files. */
export type Kind = Required<Omit<About, 'fulfilledBy' | 'within'>> &
  Pick<About, 'fulfilledBy' | 'within'> & {
    kind: string;
    /** The fields that responses show. */
    fields: Readonly<Record<string, { isFixed: boolean; isNullable: boolean }>>;
    children: readonly Kind[];
  };

/** The fields of an object, in a file or a response. */
export type Values = Readonly<Record<string, unknown>>;

/** Reads the schema of configuration files, which follows the version of the deployment. */
export async function readSchema(client: ApiClient): Promise<{ schema: Schema; kinds: readonly Kind[] }> {
  const schema = (await client.request('GET', '/schemas/gatehouse.json')).body as Schema;
  return { schema, kinds: kindsIn(schema) };
}

function kindsIn({ properties = {} }: Schema): Kind[] {
  return Object.entries(properties).flatMap(([kind, { items = {}, 'x-gatehouse': about }]) => {
    if (about === undefined) return [];
    const { secrets = [], ...rest } = about;
    const fields = Object.entries(items.properties ?? {}).filter(
      ([name, it]) =>
        it['x-gatehouse'] === undefined && !secrets.includes(name) && (name !== 'id' || about.name === 'id'),
    );
    return {
      ...{ shown: {}, references: {}, unmanaged: {}, restsOn: [], upserts: false, ...rest },
      ...{ kind, secrets, children: kindsIn(items) },
      fields: Object.fromEntries(
        fields.map(([name, it]) => [
          name,
          { isFixed: it['x-gatehouse-fixed'] === true, isNullable: isNullable(it) },
        ]),
      ),
    };
  });
}

function isNullable({ type, anyOf = [] }: Schema): boolean {
  return [type].flat().includes('null') || anyOf.some(isNullable);
}

/** The path of an object, or of its list if there is no id. */
export function pathOf({ path }: Kind, parent: string | undefined, id?: string): string {
  const list = path.replace(/\{\w+\}/, encodeURIComponent(parent ?? ''));
  return id === undefined ? list : `${list}/${encodeURIComponent(id)}`;
}
