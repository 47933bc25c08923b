import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from '@gatehouse/testing/listen';
import { createVerifier, type State, type VerifierOptions } from '@gatehouse/verify/verifier';
import type { Test } from 'tap';
import { AUDIENCE, type Json, JWKS } from './vectors/signing.ts';

export const CREDENTIALS = { clientId: 'cli/ent', clientSecret: 's ecret:é' };

/** An issuer whose feed says what the test says, byte by byte. */
export async function startIssuer(t: Test) {
  const streams = new Set<ServerResponse>();
  const issuer = {
    url: '',
    requests: [] as { path: string; headers: IncomingMessage['headers']; body: string }[],
    introspection: {} as Record<string, Json>,
    /** In place of the response at a path. */
    instead: new Map<string, RequestListener>(),
    /** Sent when a listener connects. */
    greeting: ': heartbeat\nid: 1\n\n',
    streams,
    send(chunk: string) {
      for (const stream of streams) stream.write(chunk);
    },
    revoke(entry: Json, id = '9') {
      issuer.send(`id: ${id}\ndata: ${JSON.stringify({ until: Date.now() / 1000 + 600, ...entry })}\n\n`);
    },
    beat(id = '9') {
      issuer.send(`: heartbeat\nid: ${id}\n\n`);
    },
    count: (path: string) => issuer.requests.filter((it) => it.path.startsWith(path)).length,
    reports: () => issuer.requests.filter((it) => it.path.endsWith('/report')),
  };
  const responses: Record<string, (body: string) => unknown> = {
    '/.well-known/oauth-authorization-server': () => ({
      issuer: issuer.url,
      jwks_uri: `${issuer.url}/jwks`,
      introspection_endpoint: `${issuer.url}/introspect`,
    }),
    '/jwks': () => JWKS,
    '/introspect': (body) =>
      issuer.introspection[new URLSearchParams(body).get('token') ?? ''] ?? { active: false },
    '/api/v1/resources': () => ({ data: [{ id: 'rsr_1', identifier: AUDIENCE }] }),
  };
  const server = createServer(async (request, response) => {
    const { url: path = '', headers } = request;
    const body = await text(request);
    issuer.requests.push({ path, headers, body });
    const name = path.replace(/\?.*/, '');
    const instead = issuer.instead.get(name);
    if (instead !== undefined) return instead(request, response);
    const found = responses[name];
    if (found !== undefined) return response.end(JSON.stringify(found(body)));
    if (name.startsWith('/api/v1/resources/rsr_1/verifiers/')) return response.writeHead(204).end();
    if (name !== '/api/v1/resources/rsr_1/revocations') return response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(issuer.greeting);
    streams.add(response);
    return response.on('close', () => streams.delete(response));
  });
  issuer.url = `http://127.0.0.1:${await listen(t, server)}`;
  return issuer;
}

export type Issuer = Awaited<ReturnType<typeof startIssuer>>;

/** A verifier of the issuer's tokens; `states` are those that it has logged. */
export function verifierOf(t: Test, { url }: { url: string }, more: Partial<VerifierOptions> = {}) {
  const states: State[] = [];
  const lines: string[] = [];
  const log = (line: string, state: State) => {
    lines.push(line);
    states.push(state);
  };
  const options = { issuer: url, audience: AUDIENCE, log, ...CREDENTIALS, ...more } as VerifierOptions;
  const verifier = createVerifier(options);
  t.teardown(() => verifier.close());
  return { verifier, states, lines };
}
