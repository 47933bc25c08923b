import { hash } from 'node:crypto';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';

/** How long it is known that a request was used, in seconds: longer than any sign-in takes that began with it. */
const KEPT_SECONDS = 86_400;

/** A pushed request by the hash of its id, as far as it matters whether it was used. */
type Used = { consumed_at: Date; expires_at: Date; payload: string };
export type PushedRequests = {
  updateOne(
    filter: { _id: string; consumed_at: null },
    update: { $set: Used },
    options: { upsert: true },
  ): PromiseLike<unknown>;
};

/**
 * A pushed request (RFC 9126) lives for as long as oidc-provider says, and is used up when its code is issued (§4). People may
 * need longer to get there: so one that is gone is found as one that has expired, and using it up leaves a document, which a
 * second use cannot. One of several concurrent ones succeeds.
 */
export function usedOnce(adapter: Adapter, requests: PushedRequests): Adapter {
  const invalid = () => new errors.InvalidRequestUri('request_uri is invalid, expired, or was already used');
  return {
    ...adapter,
    find: async (id) => (await adapter.find(id)) ?? ({ jti: id, exp: 0 } satisfies AdapterPayload),
    async consume(id) {
      const _id = hash('sha256', id, 'base64url');
      const now = Date.now();
      const used = {
        consumed_at: new Date(now),
        expires_at: new Date(now + KEPT_SECONDS * 1000),
        payload: '{}',
      };
      try {
        await requests.updateOne({ _id, consumed_at: null }, { $set: used }, { upsert: true });
      } catch (error) {
        throw duplicateKeyField(error) === '_id' ? invalid() : error;
      }
    },
  };
}
