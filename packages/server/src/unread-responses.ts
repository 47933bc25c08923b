import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { callerKey } from './requests.ts';

/** How much of responses may wait in a process for clients to read it, in bytes: of one caller, and in all. */
export type UnreadLimits = { ofCaller: number; inAll: number };

const DEFAULT_LIMITS: UnreadLimits = { ofCaller: 32e6, inAll: 96e6 };
/** Responses with fewer unread bytes are not counted: most are taken by the system at once. */
const COUNTED_FROM = 16 * 1024;
/** All connections are checked once for this many waiting bytes, as that takes long with thousands of them. */
const CHECKED_EACH = 1e6;

/** The responses of a connection that have not been read, several where requests are pipelined (RFC 9112 §9.3.2). */
type Unread = { responses: Set<ServerResponse>; since: number };

/**
 * Extends the class of a server's responses: connections whose client reads too slowly are closed. When more bytes wait than the limits
 * allow, the connections with the most bytes that have been waiting for longest are closed first, except the one whose response is being
 * written.
 */
export function limitUnread(
  Response: typeof ServerResponse<IncomingMessage>,
  limits: UnreadLimits = DEFAULT_LIMITS,
): typeof ServerResponse<IncomingMessage> {
  const connections = new Map<Socket, Unread>();
  let unchecked = 0;

  function unreadOn(socket: Socket): Unread {
    const known = connections.get(socket);
    if (known !== undefined) return known;
    const made = { responses: new Set<ServerResponse>(), since: performance.now() };
    connections.set(socket, made);
    socket.once('close', () => connections.delete(socket));
    return made;
  }

  /** A response that waits for earlier ones on its connection is held in this process, however small it is. */
  function count(written: ServerResponse): void {
    const isBehind = written.socket === null;
    if (written.writableLength < (isBehind ? 1 : COUNTED_FROM)) return;
    const { socket } = written.req;
    if (socket.destroyed) return;
    const unread = unreadOn(socket);
    if (!unread.responses.has(written)) {
      unread.responses.add(written);
      written.once('close', () => unread.responses.delete(written));
    }
    // It is written to again only after all of it has been read.
    if (!isBehind) unread.since = performance.now();
    unchecked += written.writableLength;
    if (unchecked < CHECKED_EACH) return;
    unchecked = 0;
    closeSlowest(isBehind ? undefined : socket);
  }

  function closeSlowest(spared: Socket | undefined): void {
    const now = performance.now();
    const sums = new Map<string, number>();
    let inAll = 0;
    const all = [...connections].flatMap(([socket, { responses, since }]) => {
      const [first] = responses;
      if (first === undefined) return [];
      const caller = callerKey(first.req);
      const bytes = [...responses].reduce((sum, { writableLength }) => sum + writableLength, 0);
      inAll += bytes;
      sums.set(caller, (sums.get(caller) ?? 0) + bytes);
      return [{ socket, caller, bytes, weight: bytes * (now - since) }];
    });
    for (const { socket, caller, bytes } of all.sort((a, b) => b.weight - a.weight)) {
      const own = sums.get(caller) ?? 0;
      if (socket === spared || (inAll <= limits.inAll && own <= limits.ofCaller)) continue;
      socket.destroy();
      connections.delete(socket);
      inAll -= bytes;
      sums.set(caller, own - bytes);
    }
  }

  return class extends Response {
    override write(...args: unknown[]): boolean {
      const goesOn = super.write(...(args as Parameters<ServerResponse['write']>));
      count(this);
      return goesOn;
    }

    override end(...args: unknown[]): this {
      super.end(...(args as Parameters<ServerResponse['end']>));
      count(this);
      return this;
    }
  };
}
