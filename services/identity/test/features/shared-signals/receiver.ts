import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing/processes';
import { createRemoteJWKSet, type JWTPayload, jwtVerify } from 'jose';

type TestScope = { teardown(fn: () => unknown): void };
export type Received = { claims: JWTPayload; type: string; event: Record<string, unknown>; sub: string };
type Request = { headers: NodeJS.Dict<string | string[]>; method: string | undefined; body: string };

/** Verifies a SET as a receiver must (Shared Signals 1.0 §4, RFC 8417 §2). */
export function setVerifier(issuer: string, audience: string) {
  const keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`));
  return async (token: string): Promise<Received> => {
    const { payload: claims } = await jwtVerify(token, keys, {
      ...{ issuer, audience, typ: 'secevent+jwt', algorithms: ['RS256'] },
      requiredClaims: ['jti', 'iat', 'sub_id', 'events'],
    });
    if ('sub' in claims || 'exp' in claims) throw new Error('a SET must not be usable as another token');
    const events = Object.entries(claims.events as Record<string, Record<string, unknown>>);
    const [[type, event] = ['', {}], ...more] = events;
    if (more.length > 0) throw new Error('a SET has one event');
    const { sub_id } = claims as { sub_id: { sub?: string } };
    return { claims, type: type.replace(/^.*\//, ''), event, sub: sub_id.sub ?? '' };
  };
}

/** A receiver of events on loopback. `reply.statuses` are its responses, one after the other, the last for good. */
export async function receiver(t: TestScope, issuer: string, audience: string) {
  const requests: Request[] = [];
  const reply = { statuses: [202], body: '', pauseMs: 0 };
  const open = { now: 0, most: 0 };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    requests.push({ headers: request.headers, method: request.method, body });
    open.now += 1;
    open.most = Math.max(open.most, open.now);
    await sleep(reply.pauseMs);
    open.now -= 1;
    const status = reply.statuses.length > 1 ? reply.statuses.shift() : reply.statuses[0];
    response.writeHead(status ?? 202, { 'content-type': 'application/json' }).end(reply.body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => void server.close().closeAllConnections());
  const verify = setVerifier(issuer, audience);
  const received = () => Promise.all(requests.map(({ body }) => verify(body)));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    requests,
    /** The requests that are open now, and the most that were at a time. */
    open,
    reply,
    received,
    /** The events of a type, as soon as there are so many. */
    async until(type: string, count = 1, ms = 5000): Promise<Received[]> {
      const ofType = async () => (await received()).filter((it) => it.type === type);
      await until(async () => (await ofType()).length >= count, ms);
      return ofType();
    },
  };
}
