import { createLogger } from '@gatehouse/kit/logger';
import { run } from '@gatehouse/kit/run';
import { createTestIssuer, type TestIssuer } from '@gatehouse/testing/test-issuer';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import { createUsersService } from '../src/service.ts';
import type { NewUser } from '../src/user.ts';

type TestScope = { teardown(fn: () => unknown): void };

/** What profile A can answer, all in one: each test knows which of it is there, and asserts it. */
type Body = {
  id: string;
  username: string;
  email: string;
  createdAt: string;
  updatedAt: string;
  data: Body[];
  pagination: { limit: number; offset: number; total: number };
  error: { code: string; message: string };
};

export type Answer = { status: number; headers: Headers; body: Body };

/** The users service on a port of its own, with a database and an issuer of its own. */
export async function build(t: TestScope, options: { firstUsers?: readonly NewUser[] } = {}) {
  const issuer: TestIssuer = await createTestIssuer(t);
  const logger = createLogger({ name: 'test', level: 'fatal', readable: false });
  const service = createUsersService(
    {
      publicUrl: issuer.issuer,
      identityUrl: issuer.issuer,
      mongodbUri: await testDatabase(t),
      hashConcurrency: 2,
      rateLimit: 'off',
      firstUsers: options.firstUsers ?? [],
    },
    logger,
  );
  const running = await run([service], {
    port: 0,
    host: '127.0.0.1',
    logger,
    trustedProxies: [],
    requireHttps: false,
    drainSeconds: 1,
  });
  t.teardown(() => running.stop());
  await running.started;
  const base = `http://127.0.0.1:${running.port}`;

  /** A request with a token; a body that is not a text is sent as JSON. */
  async function call(
    method: string,
    path: string,
    token: string | undefined,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await fetch(base + path, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : {
            body:
              typeof body === 'string' || body instanceof Uint8Array
                ? (body as NonNullable<RequestInit['body']>)
                : JSON.stringify(body),
          }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
  }

  return { issuer, call, base };
}
