import type { EventSigner } from '../../core/tokens/token-signer.ts';
import type { EventDocument } from './event-queue.ts';

/** The SET of an event (Shared Signals 1.0 §4.1), signed with the current key: without `sub` and `exp`, which other tokens have. */
export function createEventTokens(issuer: string, signer: () => EventSigner) {
  return (
    { _id: jti, stream_id, account_id, type, payload, txn, created_at }: EventDocument,
    audience: string,
  ): Promise<string> =>
    signer()({
      jti,
      iat: Math.floor(created_at.getTime() / 1000),
      aud: audience,
      ...(txn === undefined ? {} : { txn }),
      // RFC 9493 §3.2.
      sub_id:
        account_id === null
          ? { format: 'opaque', id: stream_id }
          : { format: 'iss_sub', iss: issuer, sub: account_id },
      events: { [type]: payload },
    });
}
