import { createServer, type RequestListener } from 'node:http';
import { listen } from '@gatehouse/testing/listen';
import * as forExpress from '@gatehouse/verify/express';
import * as forFastify from '@gatehouse/verify/fastify';
import * as forHono from '@gatehouse/verify/hono';
import * as forKoa from '@gatehouse/verify/koa';
import { tokenVerifier } from '@gatehouse/verify/mcp';
import * as forNext from '@gatehouse/verify/next';
import type { Caller } from '@gatehouse/verify/verifier';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import express from 'express';
import Fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import t, { type Test } from 'tap';
import { localVerifier, METADATA, tokenOfNow } from './local.ts';
import { AUDIENCE, ISSUER, proof, thumbprint } from './vectors/signing.ts';

const needs = { scopes: ['notes:read'] };
const about = { name: 'Notes', scopes: ['notes:read'], owner: 'usr_9' };
const verifier = localVerifier();

async function serve(
  t: Test,
  listener: RequestListener,
): Promise<(path: string, init?: RequestInit) => Promise<Response>> {
  const port = await listen(t, createServer(listener));
  return (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init);
}

type Ask = (path: string, init?: RequestInit) => Promise<Response>;

/** The behaviour of every adapter, tried at an application that responds to GET /v1/notes with the subject of the caller. */
async function testAdapter(t: Test, ask: Ask, origin: (path: string) => string) {
  const get = (token?: string, headers = {}) =>
    ask('/v1/notes?x=1', {
      headers: token === undefined ? headers : { authorization: `Bearer ${token}`, ...headers },
    });
  const good = await get(await tokenOfNow());
  t.equal(good.status, 200);
  t.strictSame(await good.json(), { subject: 'usr_1' });

  const none = await get();
  t.equal(none.status, 401);
  t.equal(none.headers.get('www-authenticate'), `Bearer ${METADATA}`);
  t.match(none.headers.get('content-type'), 'application/json');
  t.match(await none.json(), { error: 'unauthorized' });

  const narrow = await get(await tokenOfNow({ scope: 'notes:write' }));
  t.equal(narrow.status, 403);
  t.match(narrow.headers.get('www-authenticate'), 'error="insufficient_scope"');
  t.match(narrow.headers.get('www-authenticate'), 'scope="notes:read"');

  const bound = await tokenOfNow({ cnf: { jkt: await thumbprint() } });
  const now = Math.floor(Date.now() / 1000);
  const dpop = await proof(
    { token: bound, url: origin('/v1/notes') },
    { iat: now, jti: crypto.randomUUID() },
  );
  const proven = await ask('/v1/notes?x=1', { headers: { authorization: `DPoP ${bound}`, dpop } });
  t.equal(proven.status, 200, 'the URL of a proof is the one that was requested');

  const described = await ask('/.well-known/oauth-protected-resource/notes');
  t.equal(described.status, 200);
  t.equal(described.headers.get('access-control-allow-origin'), '*');
  t.equal(described.headers.get('cache-control'), 'max-age=3600');
  t.strictSame(await described.json(), {
    resource: AUDIENCE,
    authorization_servers: [ISSUER],
    bearer_methods_supported: ['header'],
    dpop_signing_alg_values_supported: ['ES256', 'ES384', 'ES512', 'Ed25519', 'EdDSA', 'PS256', 'RS256'],
    resource_name: 'Notes',
    scopes_supported: ['notes:read'],
    gatehouse_owner: 'usr_9',
  });
}

/** Finds out the origin of a server by its responses. */
async function testServer(t: Test, listener: RequestListener) {
  const ask = await serve(t, listener);
  const { origin } = new URL((await ask('/nothing')).url);
  await testAdapter(t, ask, (path) => origin + path);
}

t.test('Express', async (t) => {
  const app = express();
  const router = express.Router();
  router.get('/notes', forExpress.protect(verifier, needs), (request, response) => {
    response.json({ subject: request.caller?.subject });
  });
  app.use(forExpress.metadata(verifier, about));
  // The router takes its path away from request.url.
  app.use('/v1', router);
  await testServer(t, app);
});

t.test('Fastify', async (t) => {
  const app = Fastify();
  t.teardown(() => app.close());
  await app.register(forFastify.metadata(verifier, about));
  app.get('/v1/notes', { onRequest: forFastify.protect(verifier, needs) }, async (request) => {
    return { subject: (request as unknown as { caller: Caller }).caller.subject };
  });
  await app.ready();
  await testServer(t, app.routing);
});

t.test('Koa', async (t) => {
  const app = new Koa();
  app.use(forKoa.metadata(verifier, about));
  app.use(forKoa.protect(verifier, needs));
  app.use(async (ctx) => {
    t.equal(ctx.state.caller, (ctx as { caller?: Caller }).caller);
    ctx.body = { subject: ctx.state.caller.subject };
  });
  await testServer(t, app.callback());
});

t.test('Hono', async (t) => {
  const app = new Hono<{ Variables: { caller: Caller } }>();
  app.use(forHono.metadata(verifier, about));
  app.use('/v1/*', forHono.protect(verifier, needs));
  app.get('/v1/notes', (context) => context.json({ subject: context.get('caller').subject }));
  const origin = 'http://localhost';
  await testAdapter(
    t,
    async (path, init) => app.request(origin + path, init),
    (path) => origin + path,
  );
});

t.test('Next', async (t) => {
  const origin = 'http://localhost';
  const protect = forNext.protect(verifier, needs);
  const GET = protect<{ params: Promise<{ id: string }> }>(async (_request, { params, caller }) => {
    t.strictSame(await params, { id: '7' });
    return Response.json({ subject: caller.subject });
  });
  const described = forNext.metadata(verifier, about);
  await testAdapter(
    t,
    async (path, init) => {
      const request = new Request(origin + path, init);
      return path.startsWith('/.well-known')
        ? described(request)
        : GET(request, { params: Promise.resolve({ id: '7' }) });
    },
    (path) => origin + path,
  );
});

t.test('an error of the application itself is none of the verifier', async (t) => {
  const fault = Object.assign(localVerifier(), { verify: () => Promise.reject(new Error('a fault')) });
  const app = express();
  app.get('/', forExpress.protect(fault));
  app.use(((error, _request, response, _next) => {
    response.status(500).send(error.message);
  }) as express.ErrorRequestHandler);
  const ask = await serve(t, app);
  const response = await ask('/');
  t.strictSame([response.status, await response.text()], [500, 'a fault']);
});

t.test('the MCP SDK', async (t) => {
  const app = express();
  const auth = requireBearerAuth({
    verifier: tokenVerifier(verifier, { InvalidTokenError, maxAge: 300 }),
    requiredScopes: ['notes:read'],
    resourceMetadataUrl: verifier.metadata.url,
  });
  app.post('/mcp', auth, (request, response) => {
    response.json(request.auth);
  });
  const ask = await serve(t, app);
  const post = (token: string) =>
    ask('/mcp', { method: 'POST', headers: { authorization: `Bearer ${token}` } });
  const auth_time = Math.floor(Date.now() / 1000);
  const good = await tokenOfNow({ auth_time });
  const response = await post(good);
  t.equal(response.status, 200);
  t.match(await response.json(), {
    token: good,
    clientId: 'cli_1',
    scopes: ['notes:read', 'notes:write'],
    resource: AUDIENCE,
    extra: { subject: 'usr_1', kind: 'person' },
  });
  const bad = await post('x.y.z');
  t.equal(bad.status, 401);
  t.match(bad.headers.get('www-authenticate'), 'error="invalid_token"');
  t.match(bad.headers.get('www-authenticate'), METADATA);
  t.equal((await post(await tokenOfNow({ auth_time: 1 }))).status, 401, 'an old sign-in');
  t.equal((await post(await tokenOfNow({ auth_time, scope: 'x' }))).status, 403);
});
