import { hash } from 'node:crypto';
import Provider, { type Adapter, errors } from 'oidc-provider';
import type { Documents } from './oidc-document.ts';

/**
 * A code and a rotated refresh token work once (RFC 6749 §4.1.2, RFC 9700 §4.14.2): of several concurrent requests, the one
 * whose update matches succeeds. The others fail with invalid_grant, after `onReuse` has ended the grant. Much later,
 * oidc-provider finds it consumed and ends the grant: for that it is kept for `keepSeconds`, or else until it expires.
 */
export function once(
  documents: Documents,
  more: { keepSeconds?: number; onReuse?: (grantId: string) => Promise<void> } = {},
) {
  const { keepSeconds, onReuse } = more;
  return async (id: string): Promise<void> => {
    const _id = hash('sha256', id, 'base64url');
    const now = Date.now();
    const kept = keepSeconds === undefined ? {} : { expires_at: new Date(now + keepSeconds * 1000) };
    const { modifiedCount } = await documents.updateOne(
      { _id, consumed_at: null },
      { $set: { consumed_at: new Date(now), ...kept } },
    );
    if (modifiedCount === 1) return;
    const used = await documents.findOne({ _id }, { projection: { grant_id: 1 } });
    if (used?.grant_id !== undefined) await onReuse?.(used.grant_id);
    throw new errors.InvalidGrant('it has already been used');
  };
}

/**
 * A refresh token that was rotated a moment ago is merely not found: there may be two tabs, or a response was lost.
 * Later, oidc-provider finds it consumed and ends the family (RFC 9700 §4.14.2). Revoking it ends the family at any time (RFC 7009 §2.1).
 */
export function graceful(adapter: Adapter, seconds: number): Adapter {
  return {
    ...adapter,
    async find(id) {
      const payload = await adapter.find(id);
      if (Provider.ctx?.oidc?.route === 'revocation') return payload;
      const consumed = payload ? (payload.consumed as number | undefined) : undefined;
      return consumed !== undefined && Date.now() / 1000 - consumed < seconds ? undefined : payload;
    },
  };
}
