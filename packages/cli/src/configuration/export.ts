import { stringify } from 'yaml';
import { type Deployment, mapConcurrently } from './deployment.ts';
import type { Kind, Values } from './kind.ts';
import type { References } from './references.ts';

/**
 * The configuration of a deployment, with the objects that the person may read. Secrets are references to environment variables, which are
 * named after the objects.
 */
export async function exportConfiguration(
  kinds: readonly Kind[],
  options: { deployment: Deployment; references: References; url: string },
): Promise<Record<string, unknown>> {
  const lists: Record<string, unknown> = { $schema: `${options.url}/schemas/gatehouse.json` };
  for (const kind of kinds) {
    const views = await options.deployment.visible(kind);
    for (const { name, client_id: id } of kind.kind === 'applications' ? (views ?? []) : []) {
      const isOnly = views?.filter((it) => it.name === name).length === 1;
      options.references.bind(String(name), isOnly ? String(id) : undefined);
    }
    if (views !== undefined && views.length > 0) lists[kind.kind] = await exported(kind, views, options);
  }
  return lists;
}

async function exported(
  kind: Kind,
  views: readonly Values[],
  options: { deployment: Deployment; references: References },
): Promise<Record<string, unknown>[]> {
  const all = await mapConcurrently(views, async (view) => ({
    view,
    values: await options.references.toFile(kind, view),
  }));
  const keyOf = (values: Values) => JSON.stringify([values.owner, values[kind.name]]);
  return mapConcurrently(all, async ({ view, values }) => {
    const id = String(view[kind.id]);
    const isRepeated = all.filter((it) => keyOf(it.values) === keyOf(values)).length > 1;
    const secrets = ((view.secrets ?? []) as { name: string }[]).map(({ name }) => {
      const variable = `${String(values[kind.name])}_${name}`.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_');
      return [name, `\${env:${variable}}`];
    });
    const children: Record<string, unknown> = {};
    for (const child of kind.children) {
      const below = await options.deployment.list(child, id);
      if (below.length > 0) children[child.kind] = await exported(child, below, options);
    }
    return { ...(isRepeated ? { id } : {}), ...values, ...Object.fromEntries(secrets), ...children };
  });
}

/** A configuration as YAML, which editors complete and check by its schema. */
export function toYaml(configuration: Values): string {
  return `# yaml-language-server: $schema=${configuration.$schema}\n${stringify(configuration, { lineWidth: 0, aliasDuplicateObjects: false })}`;
}
