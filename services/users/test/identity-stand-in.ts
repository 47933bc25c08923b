import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { listen } from '@gatehouse/testing/listen';
import type { TestIssuer } from '@gatehouse/testing/test-issuer';
import { internalAudience } from '@gatehouse/tokens/scopes';
import { createTokenVerifier } from '@gatehouse/tokens/verifier';

/** The body of POST /internal/identity/account-changes. */
export type AccountChange = {
  id: string;
  user_id: string;
  epoch: number;
  sign_in_epoch: number;
  reason: string;
  previous_email?: string;
  at: string;
};

/**
 * Identity as this service sees it: the issuer's endpoints behind another address, and one that takes account
 * changes. It can go away, breaking off every connection or leaving every request without a response, and come back.
 */
export async function createIdentityStandIn(t: { teardown(fn: () => void): void }, issuer: TestIssuer) {
  const tokens = createTokenVerifier({
    issuer: issuer.issuer,
    audience: internalAudience(issuer.issuer, 'identity'),
    jwksUri: `${issuer.issuer}/.well-known/jwks.json`,
  });
  const changes: AccountChange[] = [];
  /** The ids of people who have a second factor. */
  const withSecondFactor = new Set<string>();
  let away: 'closed' | 'silent' | undefined;
  const waiting = new Set<Socket>();

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = request;
    const body = await text(request);
    if (away === 'closed') return void request.socket.destroy();
    if (away === 'silent') return void waiting.add(request.socket);
    if (method === 'POST' && url === '/internal/identity/account-changes') {
      const caller = await tokens.verify(headers.authorization?.slice('Bearer '.length) ?? '');
      if (caller.clientId !== issuer.client.id) throw new Error('not the client of users');
      changes.push(JSON.parse(body));
      return void response.writeHead(204).end();
    }
    if (method === 'POST' && url === '/internal/identity/second-factors') {
      const required = withSecondFactor.has(JSON.parse(body).user_id);
      return void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ required }));
    }
    const { authorization, 'content-type': type } = headers;
    const passed = await fetch(issuer.issuer + url, {
      method,
      headers: {
        ...(authorization === undefined ? {} : { authorization }),
        ...(type === undefined ? {} : { 'content-type': type }),
      },
      ...(method === 'GET' ? {} : { body }),
    });
    response.writeHead(passed.status, { 'content-type': 'application/json' }).end(await passed.text());
  }

  const server = createServer((request, response) => {
    respond(request, response).catch(() => response.writeHead(401).end());
  });
  return {
    url: `http://127.0.0.1:${await listen(t, server)}`,
    /** What it has taken, in this order. */
    changes,
    withSecondFactor,
    leave(how: 'closed' | 'silent') {
      away = how;
    },
    comeBack() {
      away = undefined;
      for (const socket of waiting) socket.destroy();
      waiting.clear();
    },
  };
}
