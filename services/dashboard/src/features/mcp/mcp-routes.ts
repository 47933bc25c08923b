import { readBody } from '@gatehouse/api/http/request-body';
import { ServiceError } from '@gatehouse/core/errors';
import { problem } from '@gatehouse/server/json-response';
import { requestInfo } from '@gatehouse/server/requests';
import { unauthenticated } from '@gatehouse/tokens/caller';
import { MCP_METADATA_PATH, withResourceMetadata } from '@gatehouse/tokens/resource-metadata';
import { MCP_READ, mcpAudience } from '@gatehouse/tokens/scopes';
import { toServiceError } from '@gatehouse/tokens/verification-error';
import { createProofVerifier } from '@gatehouse/verify/dpop';
import Router from '@koa/router';
import { createMcpHandler } from '@modelcontextprotocol/server';
import type { Context } from 'koa';
import { type Cause, causeOf } from '../../api/cause.ts';
import type { OAuthClient } from '../../sessions/oauth-client.ts';
import { createMcpServer, type McpServerOptions } from './mcp-server.ts';

const MAX_BODY = 1024 * 1024;

/**
 * The MCP server of the deployment (Streamable HTTP, without sessions). Each request has a token for `PUBLIC_URL/mcp`, with a proof if the
 * token is bound to a key (RFC 9449 §7). Identity exchanges it for a token for the API, of the same person and application. So the API decides
 * about everything, and both tokens end together.
 */
export function mcpRoutes(options: McpServerOptions & { oauth: Pick<OAuthClient, 'exchange'> }): Router {
  const { publicUrl, oauth } = options;
  const router = new Router({ sensitive: true });
  const proofs = createProofVerifier();
  const handler = createMcpHandler(
    ({ authInfo, era }) => {
      if (authInfo === undefined) throw new Error('a request has no token');
      const { token, scopes, extra } = authInfo;
      return createMcpServer(options, { token, scopes: new Set(scopes), cause: extra?.cause as Cause, era });
    },
    { maxSubscriptions: 0 },
  );

  router.all('/mcp', async (ctx) => {
    const info = requestInfo(ctx.req);
    info.route = '/mcp';
    ctx.set('cache-control', 'no-store');
    const origin = ctx.get('origin');
    // The page of another site, whose host name may even point to this address (DNS rebinding).
    if (origin !== '' && origin !== new URL(publicUrl).origin) {
      return respond(
        ctx,
        new ServiceError('forbidden', 'Pages of other sites cannot call the MCP server.'),
        publicUrl,
      );
    }
    const header = ctx.get('authorization');
    const [, scheme = '', token] = /^(Bearer|DPoP) +([\w-]+\.[\w-]+\.[\w-]+) *$/i.exec(header) ?? [];
    const cause = causeOf(ctx.req);
    try {
      const exchanged = token === undefined ? undefined : await oauth.exchange(token, cause);
      if (token === undefined || exchanged === undefined) {
        const error = header === '' ? undefined : 'invalid_token';
        throw unauthenticated(`Send an access token for ${publicUrl}/mcp.`, error);
      }
      await proofs.verify({
        ...{ scheme: scheme.toLowerCase() as 'bearer' | 'dpop', token },
        keyThumbprint: claimsOf(token).cnf?.jkt,
        proof: ctx.get('dpop') || undefined,
        method: ctx.method,
        urls: () => [mcpAudience(publicUrl)],
      });
      const { client_id: clientId, sub, act } = claimsOf(exchanged.token);
      Object.assign(info, { client: clientId, subject: sub, actors: [act.sub] });
      const authInfo = { token: exchanged.token, clientId, scopes: [...exchanged.scopes], extra: { cause } };
      await send(ctx, await handler.fetch(await requestOf(ctx, publicUrl), { authInfo }));
    } catch (thrown) {
      const error = toServiceError(thrown);
      if (!(error instanceof ServiceError)) throw error;
      respond(ctx, error, publicUrl);
    }
  });
  return router;
}

/** Responds with an error. A challenge names the metadata, and the least scope. */
function respond(ctx: Context, { kind, message, status, headers }: ServiceError, publicUrl: string): void {
  ctx.status = status;
  ctx.set(withResourceMetadata(headers, publicUrl, { path: MCP_METADATA_PATH, scope: MCP_READ }));
  ctx.body = problem(kind, message);
}

type Claims = { client_id: string; sub: string; act: { sub: string }; cnf?: { jkt: string } };

/** The claims of a token that identity has just issued or exchanged. */
function claimsOf(token: string): Claims {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
}

/** Throws `invalid` for a batch: the list of tools a hundred times would have 20 MB. Protocol versions since 2025-06-18 have no batches. */
async function requestOf(ctx: Context, publicUrl: string): Promise<Request> {
  const { method } = ctx;
  const headers = Object.entries(ctx.headers).flatMap(([name, value]) =>
    typeof value === 'string' && name !== 'authorization' ? [[name, value] as [string, string]] : [],
  );
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const body = hasBody ? (await readBody(ctx.req, MAX_BODY)).toString() : null;
  if (/^\s*\[/.test(body ?? '')) throw new ServiceError('invalid', 'Send one message in each request.');
  return new Request(mcpAudience(publicUrl), { method, headers, body });
}

async function send(ctx: Context, response: Response): Promise<void> {
  ctx.status = response.status;
  for (const [name, value] of response.headers) ctx.set(name, value);
  ctx.body = response.body === null ? null : Buffer.from(await response.arrayBuffer());
}
