import { type Adapter, errors } from 'oidc-provider';

/** How long people may take for the interactions of one authorization request, in seconds. */
const INTERACTIONS = 3 * 3600;

export const invalidRequestUri = () =>
  new errors.InvalidRequestUri('request_uri is invalid, expired, or was already used');

/**
 * A pushed request (RFC 9126) is consumed when its code is issued. People may need longer to get there than it lives, and
 * oidc-provider takes one that it does not find then for none: so it is kept for that long, and afterwards no code is issued.
 */
export function keptForInteractions(adapter: Adapter): Adapter {
  return {
    ...adapter,
    upsert: (id, payload, expiresIn = 0) => adapter.upsert(id, payload, expiresIn + INTERACTIONS),
    async find(id) {
      const payload = await adapter.find(id);
      if (payload === undefined) throw invalidRequestUri();
      return { ...payload, exp: Number(payload.exp) - INTERACTIONS };
    },
  };
}
