import { randomBytes } from 'node:crypto';
import { createLogger } from '@gatehouse/kit/logger';
import { run } from '@gatehouse/kit/run';
import { freePort } from '@gatehouse/testing/processes';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import { createIdentityService } from '../src/service.ts';

type TestScope = { teardown(fn: () => unknown): void };

export const MACHINE = {
  client_id: 'app_machine',
  client_secret: 'a-secret-of-many-characters-for-the-tests',
};
export const OTHER = { client_id: 'app_other', client_secret: 'another-secret-of-many-characters-for-tests' };

/** The identity service on a port of its own, with a database of its own and two machine applications. */
export async function build(
  t: TestScope,
  options: { rateLimit?: 'on' | 'off'; mongodbUri?: string; masterKey?: Buffer } = {},
) {
  const logger = createLogger({ name: 'test', level: 'fatal', readable: false });
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const machine = (credentials: typeof MACHINE, scopes: string[]) => ({
    clientId: credentials.client_id,
    clientSecret: credentials.client_secret,
    name: credentials.client_id,
    owner: 'usr_owner',
    scopes,
  });
  const service = createIdentityService(
    {
      publicUrl: base,
      mongodbUri: options.mongodbUri ?? (await testDatabase(t)),
      masterKey: options.masterKey ?? randomBytes(32),
      accessTokenAlgorithm: 'ES256',
      accessTokenLifetime: 3600,
      rateLimit: options.rateLimit ?? 'off',
      firstMachines: [machine(MACHINE, ['read:users', 'write:users']), machine(OTHER, ['read:data'])],
    },
    logger,
  );
  const running = await run([service], {
    port,
    host: '127.0.0.1',
    logger,
    trustedProxies: [],
    requireHttps: false,
    drainSeconds: 1,
  });
  t.teardown(() => running.stop());
  await running.started;

  async function post(path: string, body: BodyOf, headers: Record<string, string>) {
    const response = await fetch(base + path, { method: 'POST', headers, body });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Record<string, unknown>,
    };
  }
  return {
    base,
    /** A token request as JSON to /oauth/token. */
    json: (body: unknown, headers: Record<string, string> = {}) =>
      post('/oauth/token', typeof body === 'string' ? body : JSON.stringify(body), {
        'content-type': 'application/json',
        ...headers,
      }),
    /** A token request as a form to /oauth2/token. */
    form: (
      body: Record<string, string> | string,
      headers: Record<string, string> = {},
      path = '/oauth2/token',
    ) =>
      post(path, new URLSearchParams(body).toString(), {
        'content-type': 'application/x-www-form-urlencoded',
        ...headers,
      }),
    post,
  };
}

type BodyOf = string | Uint8Array<ArrayBuffer>;
