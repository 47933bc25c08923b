import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { createNetworks } from './networks.ts';

/** How a request came to us: from which address, and whether it was HTTPS all the way to the edge. */
export type Transport = { address: string; secure: boolean };

/**
 * Reads a request's origin, believing X-Forwarded-For and X-Forwarded-Proto from trusted addresses only
 * (addresses or CIDR ranges). A peer inside the trusted network that forwards nothing speaks for itself:
 * that is another service calling directly, and counts as secure, since it never crossed the edge.
 * Throws when an entry is neither an address nor a range.
 */
export function transportReader(trustedProxies: readonly string[]): (request: IncomingMessage) => Transport {
  const { include: isTrusted } = createNetworks(trustedProxies);

  /** The other end of a connection, which stays the same for all of its requests. */
  const peers = new WeakMap<Socket, { peer: string; isProxy: boolean }>();
  function peerOf(socket: Socket): { peer: string; isProxy: boolean } {
    let known = peers.get(socket);
    if (known === undefined) {
      const peer = plainAddress(socket.remoteAddress ?? '');
      known = { peer, isProxy: isTrusted(peer) };
      peers.set(socket, known);
    }
    return known;
  }

  return (request) => {
    const { peer, isProxy } = peerOf(request.socket);
    const encrypted = (request.socket as TLSSocket).encrypted === true;
    if (!isProxy) return { address: peer, secure: encrypted };

    const proto = request.headers['x-forwarded-proto'];
    // From the right: each trusted proxy appended the address it saw, so the first one that is not
    // trusted is the caller; anything further left is the caller's own claim.
    const forwarded = request.headers['x-forwarded-for'];
    const chain = forwarded === undefined ? [] : addressesIn(String(forwarded));
    let address = peer;
    for (let next = chain.pop(); next !== undefined; next = chain.pop()) {
      address = next;
      if (!isTrusted(address)) break;
    }
    return { address, secure: encrypted || proto === 'https' || (proto === undefined && address === peer) };
  };
}

function addressesIn(header: string): string[] {
  return header
    .split(',')
    .map((part) => plainAddress(part.trim()))
    .filter((part) => part !== '');
}

/** An IPv4 address that arrived on an IPv6 socket, as IPv4. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
}
