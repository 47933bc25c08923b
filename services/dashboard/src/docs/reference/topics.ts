import type { OpenApiDocument, Tag } from '../openapi/document.ts';
import type { Located } from './operation-view.ts';

/** The operations of one tag, which have a page: its title is their common path, or the name of their topic. */
export type ReferencePage = { title: string; tag: Tag; href: string; operations: readonly Located[] };
export type Topic = { name: string; pages: readonly ReferencePage[] };

/** The pages of the API reference, by topic, in the order of the document; on each, the list comes before its members. */
export function topicsOf(document: OpenApiDocument): readonly Topic[] {
  const all: Located[] = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  );
  const byTag = Map.groupBy(all, ({ operation }) => operation.tags[0] ?? '');
  const described = new Map(document.tags?.map((tag) => [tag.name, tag]));
  return (document['x-tagGroups'] ?? []).map(({ name, tags }) => ({
    name,
    pages: tags.map((tag) => ({
      title: tag.startsWith('/') ? tag : name,
      tag: described.get(tag) ?? { name: tag },
      href: `/docs/api/${slugOf(tag)}`,
      operations: (byTag.get(tag) ?? []).toSorted((a, b) => segments(a.path) - segments(b.path)),
    })),
  }));
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
