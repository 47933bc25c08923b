import type { OpenApiDocument, Tag } from '../openapi/document.ts';
import type { Located } from './operation-view.ts';

/** The operations of one tag, which have a page. */
export type ReferencePage = {
  /** The object in words: `Products`, or `Products: search` for a part of its paths. */
  title: string;
  /** The common path of the operations, and other paths of the same operations. */
  paths: readonly string[];
  tag: Tag;
  /** The URLs for the paths; the first one is the page's own. */
  hrefs: readonly [string, ...string[]];
  operations: readonly Located[];
};
export type Topic = { name: string; pages: readonly ReferencePage[] };

export function operationsOf(document: OpenApiDocument): Located[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  );
}

/** The pages of the API reference, by topic, in the order of the document; on each, the list comes before its members. */
export function topicsOf(document: OpenApiDocument): readonly Topic[] {
  const byTag = Map.groupBy(operationsOf(document), ({ operation }) => operation.tags[0] ?? '');
  const described = new Map(document.tags?.map((tag) => [tag.name, tag]));
  return (document['x-tagGroups'] ?? []).map(({ name, tags }) => {
    const pages = tags.map((tag): ReferencePage => {
      const operations = (byTag.get(tag) ?? []).toSorted((a, b) => segments(a.path) - segments(b.path));
      return {
        title: titleOf(tag, name),
        paths: tag.startsWith('/') ? [tag] : [],
        tag: described.get(tag) ?? { name: tag },
        hrefs: [`/docs/api/${slugOf(tag)}`],
        operations,
      };
    });
    const isPart = ({ title }: ReferencePage) => Number(title !== name);
    return { name, pages: withoutAliases(pages).toSorted((a, b) => isPart(a) - isPart(b)) };
  });
}

/** The pages; those with the same operations at several paths are one. */
function withoutAliases(pages: readonly ReferencePage[]): ReferencePage[] {
  const all = pages.flatMap(({ paths }) => paths).toSorted((a, b) => b.length - a.length);
  const contents = Map.groupBy(pages, (page) => contentOf(page, all));
  return [...contents.values()].flatMap(([page, ...aliases]) => {
    if (page === undefined) return [];
    const [path = '', ...others] = [page, ...aliases].flatMap(({ paths }) => paths);
    const withOthers = (it: Located) => ({
      ...it,
      aliases: others.map((other) => other + it.path.slice(path.length)),
    });
    return {
      ...page,
      paths: page.paths.length === 0 ? [] : [path, ...others],
      hrefs: [...page.hrefs, ...aliases.flatMap(({ hrefs }) => hrefs)] as const,
      operations: page.operations.map(withOthers),
    };
  });
}

/** The operations without their names and these paths, which are in examples, too. The longest path comes first. */
function contentOf({ title, operations }: ReferencePage, paths: readonly string[]): string {
  const contents = operations.map(({ method, path: own, operation }) => {
    const { operationId: _, tags: __, ...content } = operation;
    return [method, own, content];
  });
  return paths.reduce((text, path) => text.replaceAll(path, ''), JSON.stringify([title, contents]));
}

/** The rest of the path after the object names a part of it: `Products: search`. */
function titleOf(tag: string, topic: string): string {
  const object = topic.toLowerCase().replaceAll(' ', '-');
  const [, part] = tag.split(`/${object}/`);
  return part === undefined ? topic : `${topic}: ${part}`;
}

function segments(path: string): number {
  return path.split('/').length;
}

/** `/v1/users` is v1-users. */
function slugOf(tag: string): string {
  return tag
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}
