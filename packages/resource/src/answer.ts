import type { FastifyReply } from 'fastify';

/** A serialized answer: `text` is JSON, and is not sent with a status that has no body. */
export type Answer = { status: number; headers: Record<string, string>; text: string };

/** Statuses without a body (RFC 9110 §15.3.5, §15.4.5). */
const WITHOUT_BODY = new Set([204, 304]);

/** Sends an answer as it is, without another serialization. */
export function send(reply: FastifyReply, { status, headers, text }: Answer): FastifyReply {
  reply.code(status).headers(headers);
  return WITHOUT_BODY.has(status) ? reply.send() : reply.type('application/json; charset=utf-8').send(text);
}
