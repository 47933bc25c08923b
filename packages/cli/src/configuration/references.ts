import type { Deployment } from './deployment.ts';
import type { Kind, Values } from './kind.ts';

/** The kinds that the API refers to by id. Others are referred to by their names. */
const BY_ID = ['users', 'applications'];

/** Changes the value at a dotted path, or each value of a list there. */
async function replaceAt(
  values: Values,
  [first = '', ...rest]: readonly string[],
  change: (value: string) => Promise<string | undefined>,
): Promise<Record<string, unknown>> {
  const value = values[first];
  const changed = async (it: unknown) => (typeof it === 'string' ? ((await change(it)) ?? it) : it);
  if (value == null) return { ...values };
  if (rest.length > 0)
    return { ...values, [first]: await replaceAt(value as Record<string, unknown>, rest, change) };
  return {
    ...values,
    [first]: Array.isArray(value) ? await Promise.all(value.map(changed)) : await changed(value),
  };
}

/** The references of objects: files have names where the API has ids. */
export function createReferences(deployment: Deployment, kinds: readonly Kind[]) {
  const applications = kinds.find(({ kind }) => kind === 'applications');
  /** The applications of the files by their names, with their ids once they exist. */
  const bound = new Map<string, string | undefined>();

  async function applicationsBy(member: 'name' | 'client_id', value: string): Promise<Values[]> {
    const all = applications === undefined ? [] : await deployment.list(applications);
    return all.filter((it) => it[member] === value);
  }

  let myId: Promise<string | undefined> | undefined;
  /** The client_id of the person's only application of this name. Anybody can give the name to an application of their own. */
  async function ownNamed(name: string): Promise<string | undefined> {
    myId ??= deployment.me().then((username) => deployment.userWith('username', username));
    const me = await myId;
    const [own, ...others] = (await applicationsBy('name', name)).filter(({ owner }) => owner === me);
    return own === undefined || others.length > 0 ? undefined : String(own.client_id);
  }

  const names = {
    users: (id: string) => deployment.usernameOf(id),
    async applications(id: string): Promise<string | undefined> {
      const [found] = await applicationsBy('client_id', id);
      const name = found?.name as string | undefined;
      if (name === undefined) return undefined;
      return (bound.has(name) ? bound.get(name) : await ownNamed(name)) === id ? name : undefined;
    },
  };
  const ids = {
    users: (username: string) => deployment.userWith('username', username),
    async applications(name: string): Promise<string | undefined> {
      if (bound.has(name)) return bound.get(name);
      const own = await ownNamed(name);
      if (own !== undefined) return own;
      // A client may also describe itself at a URL.
      const isId = (await applicationsBy('client_id', name)).length > 0 || name.startsWith('https://');
      return isId ? name : undefined;
    },
  };
  const byId = (kind: Kind) => Object.entries(kind.references).filter(([, target]) => BY_ID.includes(target));

  return {
    /** Binds a name to the application of the files that has it. Its id is undefined until it is created. */
    bind: (name: string, id: string | undefined) => void bound.set(name, id),
    /** The references of an object that cannot be resolved, each with the kind to which it refers. */
    async unresolved(kind: Kind, values: Values) {
      const found: { field: string; value: string; target: string }[] = [];
      for (const [field, target] of Object.entries(kind.references)) {
        await replaceAt(values, field.split('.'), async (value) => {
          const named = kinds.find((it) => it.kind === target);
          const isFound = BY_ID.includes(target)
            ? (await ids[target as keyof typeof ids](value)) !== undefined
            : named === undefined ||
              (await deployment.visible(named))?.some((it) => it[named.name] === value) !== false;
          if (!isFound) found.push({ field, value, target });
          return undefined;
        });
      }
      return found;
    },
    /** The values as the API takes them. */
    async toApi(kind: Kind, values: Values): Promise<Record<string, unknown>> {
      let result = { ...values };
      for (const [field, target] of byId(kind)) {
        result = await replaceAt(result, field.split('.'), ids[target as keyof typeof ids]);
      }
      return result;
    },
    /** The values of an object of the deployment, as files have them. */
    async toFile(kind: Kind, view: Values): Promise<Record<string, unknown>> {
      const shown = Object.entries(kind.fields).flatMap(([field, { isNullable }]) => {
        const value = view[kind.shown[field] ?? field] ?? null;
        return value === null && !isNullable ? [] : [[field, value]];
      });
      let result = Object.fromEntries(shown) as Record<string, unknown>;
      for (const [field, target] of byId(kind)) {
        result = await replaceAt(result, field.split('.'), names[target as keyof typeof names]);
      }
      return result;
    },
  };
}
export type References = ReturnType<typeof createReferences>;
