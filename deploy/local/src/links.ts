import type { Link } from '@gatehouse/kit/pages';
import type { Service } from '@gatehouse/kit/service';

/** The links on the page at `/`: the account pages, and the documentation of the interface. */
export function linksOf(services: readonly Service[]): Link[] {
  const documents = services.flatMap(({ name, prefixes }) =>
    prefixes
      .filter((prefix) => prefix.startsWith('/openapi/'))
      .map((href) => ({ rel: 'service-desc', href, title: `OpenAPI document of ${name}` })),
  );
  return [
    { rel: 'related', href: '/account', title: 'Your account' },
    ...documents,
    { rel: 'service-doc', href: '/guides/filters', title: 'Guide to filtering lists' },
  ];
}
