import { createHash } from 'node:crypto';
import { SERVICES } from '@gatehouse/core/services';
import { createOutbound } from '@gatehouse/outbound/outbound';
import { PRODUCT } from '@gatehouse/web/document';
import { type ServiceUrls, urlOf } from '../../api/api.ts';
import type { OpenApiDocument } from './document.ts';
import { mergeDocuments, type Source } from './merge.ts';

/** The OpenAPI documents of the services, merged. */
export type ApiDescription = {
  document: OpenApiDocument;
  json: string;
  etag: string;
  /** The services that have not answered since this process started. Their operations are not in the document. */
  missing: readonly string[];
};

/** The documents that services publish, by the table of services. */
const PUBLISHED = Object.entries(SERVICES).flatMap(([service, { prefixes }]) =>
  prefixes.filter((path) => path.startsWith('/openapi/')).map((path) => ({ service, path })),
);

const FRESH_MS = 60_000;
/** While a service is away. */
const RETRY_MS = 2000;
const outbound = createOutbound({ to: 'services', timeoutMs: 3000, maxBytes: 16 * 1024 * 1024 });

const DESCRIPTION =
  'Identity, users, items, products, orders, notifications, reports and analytics over one interface. ' +
  'Guides to it are at /docs. The version of this document is that of the interface; releases of Gatehouse have their own.';

/**
 * Reads the OpenAPI documents of all services and merges them. They are kept for a minute, and then asked for by their
 * ETag. A service that is away keeps the document that it had.
 */
export function createApiDescription(options: {
  serviceUrls: ServiceUrls;
  publicUrl: string;
}): () => Promise<ApiDescription> {
  const { serviceUrls, publicUrl } = options;
  const scheme = new URL(publicUrl).protocol.slice(0, -1);
  const kept = new Map<string, { document: OpenApiDocument; etag: string | null }>();
  let description: ApiDescription | undefined;
  let freshUntil = 0;
  let reading: Promise<ApiDescription> | undefined;

  /** Returns whether the document of a service is another one now; throws when it cannot be had. */
  async function read({ service, path }: (typeof PUBLISHED)[number]): Promise<boolean> {
    const { etag = null } = kept.get(service) ?? {};
    const response = await outbound.fetch(urlOf(serviceUrls, path), {
      headers: {
        accept: 'application/json',
        'x-forwarded-proto': scheme,
        ...(etag === null ? {} : { 'if-none-match': etag }),
      },
    });
    if (response.status === 304) return false;
    if (!response.ok) throw new Error(`${path} is answered with ${response.status}`);
    const document = (await response.json()) as OpenApiDocument;
    kept.set(service, { document, etag: response.headers.get('etag') });
    return true;
  }

  async function readAll(): Promise<ApiDescription> {
    const outcomes = await Promise.allSettled(PUBLISHED.map(read));
    const isComplete = outcomes.every(({ status }) => status === 'fulfilled');
    if (description === undefined || outcomes.some((it) => it.status === 'fulfilled' && it.value)) {
      description = describe();
    }
    freshUntil = performance.now() + (isComplete ? FRESH_MS : RETRY_MS);
    return description;
  }

  function describe(): ApiDescription {
    const sources: Source[] = PUBLISHED.flatMap(({ service }) => {
      const { document } = kept.get(service) ?? {};
      return document === undefined ? [] : [{ service, document }];
    });
    const missing = PUBLISHED.map(({ service }) => service).filter((service) => !kept.has(service));
    const document = mergeDocuments(sources, { title: PRODUCT, description: DESCRIPTION, origin: publicUrl });
    const json = JSON.stringify(document);
    return { document, json, missing, etag: `"${createHash('sha256').update(json).digest('base64url')}"` };
  }

  return async () => {
    if (description !== undefined && performance.now() < freshUntil) return description;
    reading ??= readAll().finally(() => {
      reading = undefined;
    });
    return reading;
  };
}
