import { lookup } from 'node:dns/promises';
import { request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { createNetworks } from '@gatehouse/kit/networks';

/**
 * Sends the notifications of OpenID Connect Back-Channel Logout §2.5. oidc-provider gives fetch a dispatcher that refuses
 * special-use addresses, which protects our internal services; applications in the allowed networks (addresses and CIDR
 * ranges) are called without it, at the address that was looked up, so that a second look-up cannot lead elsewhere.
 */
export function logoutRequests(allowed: readonly string[]): typeof fetch {
  const networks = createNetworks(allowed);
  return async (input, init = {}) => {
    const url = new URL(String(input));
    const found = await lookup(url.hostname.replace(/^\[|\]$/g, ''), { all: true });
    const target = found.find(({ address }) => networks.include(address));
    return target === undefined ? fetch(input, init) : send(url, init, target);
  };
}

function send(url: URL, init: RequestInit, target: { address: string; family: number }): Promise<Response> {
  const lookUp: LookupFunction = (_hostname, { all }, done) =>
    all === true ? done(null, [target]) : done(null, target.address, target.family);
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const request = url.protocol === 'https:' ? overHttps : overHttp;
  const sent = request(url, {
    method: init.method ?? 'GET',
    headers: Object.fromEntries(new Headers(init.headers)),
    lookup: lookUp,
    agent: false,
    ...(init.signal == null ? {} : { signal: init.signal }),
  });
  sent.on('error', reject).on('response', (response) => {
    // Only the status counts (§2.8).
    response.destroy();
    resolve(new Response(null, { status: response.statusCode ?? 500 }));
  });
  sent.end(String(init.body ?? ''));
  return promise;
}
