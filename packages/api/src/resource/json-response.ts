import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/** A serialized response: `text` is JSON, and is not sent with a status that has no body. */
export type JsonResponse = { status: number; headers: Record<string, string>; text: string };

/** Statuses without a body (RFC 9110 §15.3.5, §15.4.5). */
const WITHOUT_BODY = new Set([204, 304]);

/** Sends a response as it is, without another serialization. */
export function send(reply: FastifyReply, { status, headers, text }: JsonResponse): FastifyReply {
  reply.code(status).headers(headers);
  return WITHOUT_BODY.has(status) ? reply.send() : reply.type('application/json; charset=utf-8').send(text);
}

/**
 * Sends the pieces of an iterable, in bytes, one after the other. While the client does not take them, no more than the next
 * two are asked for; when it goes, the iterable is closed. To a HEAD request no piece is read.
 */
export function sendStream(reply: FastifyReply, pieces: AsyncIterable<Uint8Array | string>): FastifyReply {
  const isHead = reply.request.method === 'HEAD';
  return reply.send(Readable.from(isHead ? [] : pieces, { objectMode: false }));
}
