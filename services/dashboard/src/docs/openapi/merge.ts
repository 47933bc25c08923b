import { GUIDES_TAG } from '@gatehouse/api/openapi/interface';
import type { Components, OpenApiDocument, Tag, TagGroup } from './document.ts';

export type Source = { service: string; document: OpenApiDocument };

const REFERENCE = /^#\/components\/(\w+)\/(.+)$/;

/**
 * One OpenAPI document of those of several services. Paths, tags and security schemes are united. A component keeps its
 * name unless an earlier service has another one of that name: then it gets the service's name before its own, and the
 * references to it follow. Operations are otherwise as they were.
 */
export function mergeDocuments(
  sources: readonly Source[],
  about: { title: string; description: string; origin: string },
): OpenApiDocument {
  const [first] = sources;
  const tags: Tag[] = [];
  const paths: OpenApiDocument['paths'] = {};
  const components = { schemas: {}, responses: {}, securitySchemes: {} } satisfies Components;
  for (const { service, document } of sources) {
    const renamed = withUniqueNames(service, document, components);
    for (const tag of renamed.tags ?? []) if (!tags.some(({ name }) => name === tag.name)) tags.push(tag);
    for (const [path, item] of Object.entries(renamed.paths)) paths[path] = { ...paths[path], ...item };
    for (const kind of ['schemas', 'responses', 'securitySchemes'] as const) {
      Object.assign(components[kind], renamed.components?.[kind]);
    }
  }
  return {
    openapi: first?.document.openapi ?? '3.1.1',
    info: {
      title: about.title,
      version: first?.document.info.version ?? '',
      description: about.description,
      license: first?.document.info.license,
    },
    servers: [{ url: about.origin }],
    tags,
    'x-tagGroups': groupsOf(tags),
    paths,
    components,
  };
}

/** The document, with a name of its own for each component that is not what `taken` has under its name. */
function withUniqueNames(service: string, document: OpenApiDocument, taken: Components): OpenApiDocument {
  const names = new Map<string, string>();
  const isTaken = (kind: keyof Components, name: string, text: string) => {
    const other = taken[kind]?.[name];
    return other !== undefined && JSON.stringify(other) !== text;
  };
  // A component that refers to a renamed one is another than that of its name, too; until nothing changes.
  for (let before = -1; before !== names.size; ) {
    before = names.size;
    for (const kind of ['schemas', 'responses'] as const) {
      for (const [name, component] of Object.entries(document.components?.[kind] ?? {})) {
        const id = `${kind}/${name}`;
        const text = JSON.stringify(mapReferences(component, names));
        if (!names.has(id) && isTaken(kind, name, text)) names.set(id, `${capital(service)}_${name}`);
      }
    }
  }
  const { components = {}, ...rest } = mapReferences(document, names);
  const renamed = <T>(kind: keyof Components, all: Record<string, T> = {}) =>
    Object.fromEntries(Object.entries(all).map(([name, it]) => [names.get(`${kind}/${name}`) ?? name, it]));
  return {
    ...rest,
    components: {
      ...components,
      schemas: renamed('schemas', components.schemas),
      responses: renamed('responses', components.responses),
    },
  };
}

/** A copy in which references follow their components. The values of examples are no references. */
function mapReferences<T>(value: T, names: ReadonlyMap<string, string>): T {
  if (Array.isArray(value)) return value.map((it) => mapReferences(it, names)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (key === 'example' || key === 'examples') return [key, inner];
      if (key !== '$ref' || typeof inner !== 'string') return [key, mapReferences(inner, names)];
      const [, kind, name] = REFERENCE.exec(inner) ?? [];
      const other = names.get(`${kind}/${name}`);
      return [key, other === undefined ? inner : `#/components/${kind}/${other}`];
    }),
  ) as T;
}

/**
 * A tag that is a path belongs to its resource, in whichever version and profile; others are groups of their own. A guide is no
 * object of the API, and in no group.
 */
function groupsOf(tags: readonly Tag[]): TagGroup[] {
  const objects = tags.filter(({ name }) => name !== GUIDES_TAG);
  const groups = Map.groupBy(objects, ({ name }) => topicOf(name));
  return [...groups].map(([name, members]) => ({ name, tags: members.map((tag) => tag.name) }));
}

const VERSION = /^(?:api|kb|v\d+)$/;

function topicOf(tag: string): string {
  if (!tag.startsWith('/')) return capital(tag);
  const resource = tag.split('/').find((segment) => segment !== '' && !VERSION.test(segment)) ?? tag;
  return TITLES[resource] ?? capital(resource.replaceAll('-', ' '));
}

/** Where the segment alone would not say it. */
const TITLES: Record<string, string> = { auth: 'Logins', audit: 'Audit log', oauth2: 'Client registration' };

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
