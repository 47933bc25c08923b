import { createHmac } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Deployment, mapConcurrently } from './deployment.ts';
import { type Configuration, ConfigurationError, type Entry, type Problem } from './file.ts';
import type { Kind, Values } from './kind.ts';
import type { References } from './references.ts';

/** A field that differs. Secrets have no values here. */
export type FieldChange = { field: string; before?: unknown; after?: unknown };

/** One step of a plan. */
export type Change = {
  action: 'create' | 'change' | 'delete';
  kind: Kind;
  /** The object in words, such as `application Lighthouse of grace`. */
  name: string;
  fields: readonly FieldChange[];
  /** The values to be sent. */
  values: Values;
  entry: Entry | undefined;
  id: string | undefined;
  parent: { id: string | undefined; entry: Entry | undefined } | undefined;
};

type Options = {
  deployment: Deployment;
  references: References;
  /** The username of the person who applies the file: the owner of objects that name none. */
  me: string;
  prune: boolean;
};

/**
 * The steps that make the deployment match the files, in their order. `prune` deletes objects that only the deployment has, if the
 * files have a list of their kind. Fields that the files leave out stay as they are. Throws a {@link ConfigurationError}.
 */
export async function planOf(
  configuration: Configuration,
  kinds: readonly Kind[],
  options: Options,
): Promise<Change[]> {
  const problems: Problem[] = [];
  const top = [];
  for (const kind of kinds.filter((it) => configuration.kinds.has(it))) {
    const entries = configuration.entries.filter((it) => it.kind === kind);
    const compared = await compare({ kind, entries, parent: undefined, problems, ...options });
    top.push(compared);
    if (kind.kind !== 'applications') continue;
    for (const { entry, id } of compared.matched) {
      const { name } = entry.values;
      const isUnique = entries.filter(({ values }) => values.name === name).length === 1;
      options.references.bind(String(name), isUnique ? id : undefined);
    }
  }
  const below = await mapConcurrently(
    top
      .flatMap(({ matched }) => matched)
      .flatMap((it) => it.entry.kind.children.map((kind) => ({ ...it, kind }))),
    async ({ entry: parent, id, kind }) => {
      const entries = configuration.entries.filter((it) => it.kind === kind && it.parent === parent);
      const isListed = Object.hasOwn(parent.values, kind.kind);
      return isListed
        ? compare({ kind, entries, parent: { id, entry: parent }, problems, ...options })
        : undefined;
    },
  );
  const all = [...top, ...below.filter((it) => it !== undefined)];
  const changed = all.flatMap(({ wanted }) => wanted.flatMap(({ entry }) => entry ?? []));
  problems.push(...(await unresolvedIn(changed, configuration, options)));
  if (problems.length > 0) throw new ConfigurationError(problems);
  // Objects that refer to others go first.
  return [...all.flatMap(({ wanted }) => wanted), ...all.reverse().flatMap(({ surplus }) => surplus)];
}

/** The differences between the objects of one kind, or those of one parent. */
async function compare(
  options: Options & { kind: Kind; entries: readonly Entry[]; parent: Change['parent']; problems: Problem[] },
) {
  const { kind, entries, parent, deployment, references, me, problems, prune } = options;
  const isNew = parent !== undefined && parent.id === undefined;
  const views = isNew ? [] : await deployment.list(kind, parent?.id);
  const existing = await mapConcurrently(views, async (view) => ({
    view,
    values: await references.toFile(kind, view),
  }));
  const keyOf = (values: Values) =>
    JSON.stringify([kind.within && (values[kind.within] ?? me), values[kind.name]]);
  const nameOf = (values: Values) => {
    const owner = values.owner === undefined ? '' : ` of ${values.owner}`;
    const of = parent?.entry === undefined ? '' : ` of ${parent.entry.values[parent.entry.kind.name]}`;
    return `${kind.kind} ${values[kind.name]}${owner}${of}`;
  };
  const rest = new Set(existing);
  const matched = new Map<Entry, (typeof existing)[number] | undefined>();
  const take = (entry: Entry, fits: (it: (typeof existing)[number]) => boolean) => {
    const found = [...rest].find(fits);
    if (found === undefined) return;
    rest.delete(found);
    matched.set(entry, found);
  };
  for (const entry of entries) {
    if (kind.name !== 'id' && entry.values.id !== undefined)
      take(entry, ({ view }) => view[kind.id] === entry.values.id);
  }
  for (const entry of entries.filter((it) => !matched.has(it))) {
    const key = keyOf(entry.values);
    const same = [...rest].filter(({ values }) => keyOf(values) === key);
    const open = entries.filter((it) => !matched.has(it) && keyOf(it.values) === key);
    if (same.length > open.length)
      problems.push(entry.problem(`the deployment has ${same.length} with this name, so it needs an "id"`));
    take(entry, (it) => same.includes(it));
  }
  const base = { kind, parent };
  const wanted = await mapConcurrently(entries, async (entry): Promise<Change | undefined> => {
    const found = matched.get(entry);
    const values = valuesOf(entry);
    const about = { ...base, name: nameOf(entry.values), entry, id: found && String(found.view[kind.id]) };
    if (found === undefined) {
      if (kind.fulfilledBy && (await deployment.userWith('email', String(values[kind.fulfilledBy]))))
        return undefined;
      const given = Object.entries(values).filter(([, value]) => value !== null);
      const fields = given.map(([field, after]) =>
        kind.secrets.includes(field) ? { field } : { field, after },
      );
      return { action: 'create', ...about, fields, values: Object.fromEntries(given) };
    }
    const fields = differences(entry, found, problems);
    return fields.length === 0 ? undefined : { action: 'change', ...about, fields, values };
  });
  const surplus = [...rest].map(({ view, values }): Change => {
    if (prune && view.protected === true)
      problems.push({
        at: nameOf(values),
        message: 'is protected: to delete it, set "protected" to false first',
      });
    const id = String(view[kind.id]);
    return { action: 'delete', ...base, name: nameOf(values), entry: undefined, id, fields: [], values };
  });
  return {
    wanted: wanted.filter((it) => it !== undefined),
    surplus: prune ? surplus : [],
    matched: entries.map((entry) => ({
      entry,
      id: matched.get(entry) && String(matched.get(entry)?.view[kind.id]),
    })),
  };
}

/** The fields of an entry, without its children and its id. */
function valuesOf({ kind, values }: Entry): Record<string, unknown> {
  const names = [...Object.keys(kind.fields), ...kind.secrets];
  return Object.fromEntries(
    names.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])),
  );
}

function differences(
  entry: Entry,
  { view, values }: { view: Values; values: Values },
  problems: Problem[],
): FieldChange[] {
  const { kind } = entry;
  return Object.entries(valuesOf(entry)).flatMap(([field, after]): FieldChange[] => {
    if (kind.secrets.includes(field)) return isSameSecret(view, field, String(after)) ? [] : [{ field }];
    const before = values[field];
    if (isDeepStrictEqual(before ?? null, after)) return [];
    if (kind.fields[field]?.isFixed)
      problems.push(
        entry.problem(`it cannot be changed from ${JSON.stringify(before)} after the creation`, field),
      );
    return [{ field, before, after }];
  });
}

/** Whether a secret has the digest that the deployment shows. */
function isSameSecret(view: Values, name: string, secret: string): boolean {
  const digests = (view.secrets ?? []) as { name: string; key: string; digest: string }[];
  const found = digests.find((it) => it.name === name);
  return (
    found !== undefined && createHmac('sha256', found.key).update(secret).digest('base64url') === found.digest
  );
}

/** The problems of references to objects that neither the files nor the deployment have. */
async function unresolvedIn(
  changed: readonly Entry[],
  { entries }: Configuration,
  { references }: Options,
): Promise<Problem[]> {
  const named = (target: string, value: string) =>
    entries.filter(({ kind, values }) => kind.kind === target && values[kind.name] === value).length === 1;
  const found = await mapConcurrently(changed, async (entry) =>
    (await references.unresolved(entry.kind, entry.values))
      .filter(({ target, value }) => !named(target, value))
      .map(({ field, value, target }) =>
        entry.problem(`there is no ${JSON.stringify(value)} among the ${target}, or more than one`, field),
      ),
  );
  return found.flat();
}
