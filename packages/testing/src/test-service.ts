import type { Logger } from '@gatehouse/core/logger';
import type { Service } from '@gatehouse/server/service';
import { createOpenApiCheck, createRequestCheck } from './openapi-check.ts';
import { freePort } from './processes.ts';
import { runServices } from './run-services.ts';
import { createTestIssuer, type TestIssuer } from './test-issuer.ts';
import { logger } from './test-logger.ts';
import { testDatabase } from './test-mongo.ts';

type TestScope = { teardown(fn: () => unknown): void };

/** The configuration of every resource service. */
export type TestServiceConfig = {
  publicUrl: string;
  identityUrl: string;
  clientSecret: string;
  mongodbUri: string;
  rateLimit: 'off';
  /** The origin of the service itself, and of others that run with it. */
  ownUrl: string;
};

type Create = (
  config: TestServiceConfig,
  logger: Logger,
  dependencies: { broadcast: TestIssuer['broadcast'] },
) => Service | Service[];

/**
 * A resource service on a port of its own, with a database and an issuer of its own, which is identity to it. Every
 * answer that `call` gets, and every body that is accepted, is compared with the OpenAPI document of the service;
 * `Body` is what a response may hold.
 */
export async function startTestService<Body>(t: TestScope, name: string, create: Create) {
  const issuer = await createTestIssuer(t, name);
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const mongodbUri = await testDatabase(t);
  const config: TestServiceConfig = {
    publicUrl: issuer.issuer,
    identityUrl: issuer.issuer,
    clientSecret: issuer.client.secret,
    mongodbUri,
    rateLimit: 'off',
    ownUrl: base,
  };
  const services = create(config, logger, { broadcast: issuer.broadcast });
  const { running } = await runServices(t, [services].flat(), { port, drainSeconds: 1 });
  await running.started;
  const { call, document } = await createCheckedCall<Body>(base, name);
  return { issuer, mongodbUri, base, call, document };
}

/**
 * Requests to a service at `base` that are compared with the OpenAPI document of the service: each response, and each body
 * that is accepted. Throws when they do not fit it.
 */
export async function createCheckedCall<Body>(base: string, service: string) {
  const document = (await (await fetch(`${base}/openapi/${service}.json`)).json()) as object;
  const problemsOf = createOpenApiCheck(document);
  const problemsOfRequest = createRequestCheck(document);

  /** A request with a token; a body that is not a text is sent as JSON. */
  async function call(
    method: string,
    path: string,
    token: string | undefined,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; headers: Headers; body: Body; text: string }> {
    const isRaw = typeof body === 'string' || body instanceof Uint8Array;
    const response = await fetch(base + path, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: isRaw ? (body as NonNullable<RequestInit['body']>) : JSON.stringify(body) }),
    });
    const text = await response.text();
    const { status, headers: received } = response;
    const responded = text === '' ? undefined : JSON.parse(text);
    if (!path.startsWith('/internal/') && !path.startsWith('/health/')) {
      const problems = problemsOf({ method, path, status, headers: received, body: responded });
      // A body that was accepted is one that the document allows.
      if (status < 300 && typeof body === 'object' && !isRaw) {
        problems.push(...problemsOfRequest({ method, path, body }));
      }
      if (problems.length > 0)
        throw new Error(`${method} ${path} ${status}: ${problems.join('; ')}\n${text}`);
    }
    return { status, headers: received, body: responded, text };
  }

  return { call, document };
}
