import type { ServiceError } from '@gatehouse/core/errors';
import type { RequestFailure } from '@gatehouse/server/requests';
import { v2CodeOf } from './error-bodies.ts';

/** The scopes that are needed, in a challenge (RFC 6750 §3). */
const SCOPE = /\bscope="([^"]*)"/;

/** An error for the request log: with the code of /v2, whatever the profile, and the fields that are invalid. */
export function requestFailure({ kind, message, details = [], headers }: ServiceError): RequestFailure {
  const fields = details
    .map((it) => `${it.field} ${it.message}`)
    .filter((text) => !message.includes(text))
    .map((text) => `${text}.`);
  return {
    code: v2CodeOf(kind),
    message: [message, ...fields].join(' '),
    scope: SCOPE.exec(headers['www-authenticate'] ?? '')?.[1],
  };
}
