import { Code, js, listeningAt, SET_VARIABLES } from './sample.ts';

/** An API as its examples need it. */
export type ApiSample = { base: string; identifier: string; name: string; owner: string; scope: string };

/** A framework with `@gatehouse/verify`, by the packages that it needs. */
export type ApiFramework = {
  id: string;
  title: string;
  steps: readonly string[];
  files(sample: ApiSample): Readonly<Record<string, Code>>;
};

const steps = (packages: string, ...begin: readonly string[]): readonly string[] => [
  ...(begin.length > 0
    ? begin
    : ['Run: mkdir -p quick-start && cd quick-start && npm init -y --init-type=module']),
  'Until @gatehouse/verify is published, pack it from your clone as the guide “Protect your API” does, and install that file in its place.',
  `Run: npm install ${packages}`,
  `Save the ${begin.length > 0 ? 'files' : 'file'} below.`,
  ...SET_VARIABLES,
];
const server = (id: string, title: string, packages: string, program: (sample: ApiSample) => Code) => ({
  ...{ id, title },
  steps: [...steps(`@gatehouse/verify ${packages}`), 'Run: node server.js'],
  files: (sample: ApiSample) => ({ 'server.js': program(sample) }),
});

const verifier = ({ base, identifier }: ApiSample) => js`const verifier = createVerifier({
  issuer: ${base},
  audience: ${identifier},
  clientId: process.env.CLIENT_ID,
  clientSecret: process.env.CLIENT_SECRET,
});`;
const about = ({ name, scope, owner }: ApiSample) =>
  js`{ name: ${name}, scopes: [${scope}], owner: ${owner} }`;
const pathOf = ({ identifier }: ApiSample) => new URL(identifier).pathname;
/** A number, as URL has parsed it. */
const portOf = ({ identifier }: ApiSample) => new Code(listeningAt(identifier).port);

/** The way from a route of Next.js to a file at the beginning of the project. */
const upFrom = (path: string) => `${'../'.repeat(path.split('/').filter(Boolean).length + 1)}verifier.js`;

/** The frameworks of the quick start of an API. */
export const API_FRAMEWORKS: readonly ApiFramework[] = [
  server(
    'express',
    'Express',
    'express@5',
    (api) => js`import { createVerifier } from '@gatehouse/verify';
import { metadata, protect } from '@gatehouse/verify/express';
import express from 'express';

${verifier(api)}
const app = express();
app.use(metadata(verifier, ${about(api)}));
app.get(${pathOf(api)}, protect(verifier, { scopes: [${api.scope}] }), (request, response) => {
  response.json({ hello: request.caller.subject });
});
app.listen(${portOf(api)});`,
  ),
  server(
    'fastify',
    'Fastify',
    'fastify@5',
    (api) => js`import { createVerifier } from '@gatehouse/verify';
import { metadata, protect } from '@gatehouse/verify/fastify';
import fastify from 'fastify';

${verifier(api)}
const app = fastify();
app.register(metadata(verifier, ${about(api)}));
app.get(${pathOf(api)}, { onRequest: protect(verifier, { scopes: [${api.scope}] }) }, async (request) => ({
  hello: request.caller.subject,
}));
await app.listen({ port: ${portOf(api)} });`,
  ),
  server(
    'koa',
    'Koa',
    'koa@3',
    (api) => js`import { createVerifier } from '@gatehouse/verify';
import { metadata, protect } from '@gatehouse/verify/koa';
import Koa from 'koa';

${verifier(api)}
const app = new Koa();
app.use(metadata(verifier, ${about(api)}));
app.use(protect(verifier, { scopes: [${api.scope}] }));
app.use((ctx) => {
  ctx.body = { hello: ctx.state.caller.subject };
});
app.listen(${portOf(api)});`,
  ),
  server(
    'hono',
    'Hono',
    'hono@4 @hono/node-server@1',
    (api) => js`import { createVerifier } from '@gatehouse/verify';
import { metadata, protect } from '@gatehouse/verify/hono';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';

${verifier(api)}
const app = new Hono();
app.use(metadata(verifier, ${about(api)}));
app.get(${pathOf(api)}, protect(verifier, { scopes: [${api.scope}] }), (context) =>
  context.json({ hello: context.get('caller').subject }),
);
serve({ fetch: app.fetch, port: ${portOf(api)} });`,
  ),
  {
    id: 'next',
    title: 'Next.js',
    steps: [...steps('@gatehouse/verify', 'Begin in a Next.js project.'), 'Run: npx next dev --port {port}'],
    files(api) {
      const path = pathOf(api).replace(/\/$/, '');
      const wellKnown = `/.well-known/oauth-protected-resource${path}`;
      return {
        'verifier.js': js`import { createVerifier } from '@gatehouse/verify';

export ${verifier(api)}`,
        [`app${path}/route.js`]: js`import { protect } from '@gatehouse/verify/next';
import { verifier } from ${upFrom(path)};

export const GET = protect(verifier, { scopes: [${api.scope}] })((request, { caller }) =>
  Response.json({ hello: caller.subject }),
);`,
        [`app${wellKnown}/route.js`]: js`import { metadata } from '@gatehouse/verify/next';
import { verifier } from ${upFrom(wellKnown)};

export const GET = metadata(verifier, ${about(api)});`,
      };
    },
  },
  server(
    'mcp',
    'MCP',
    '@modelcontextprotocol/sdk@1 express@5',
    (api) => js`import { createVerifier } from '@gatehouse/verify';
import { metadata } from '@gatehouse/verify/express';
import { tokenVerifier } from '@gatehouse/verify/mcp';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express from 'express';

${verifier(api)}
function createServer() {
  const server = new McpServer({ name: ${api.name}, version: '1.0.0' });
  server.registerTool('hello', { description: 'Says hello' }, ({ authInfo }) => ({
    content: [{ type: 'text', text: 'Hello, ' + authInfo.extra.subject }],
  }));
  return server;
}

const app = express();
app.use(metadata(verifier, ${about(api)}));
app.post(
  ${pathOf(api)},
  requireBearerAuth({
    verifier: tokenVerifier(verifier, { InvalidTokenError }),
    requiredScopes: [${api.scope}],
    resourceMetadataUrl: verifier.metadata.url,
  }),
  express.json(),
  async (request, response) => {
    const transport = new StreamableHTTPServerTransport();
    await createServer().connect(transport);
    await transport.handleRequest(request, response, request.body);
  },
);
app.listen(${portOf(api)});`,
  ),
];
