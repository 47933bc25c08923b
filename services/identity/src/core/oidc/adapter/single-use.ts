import { createHmac, hash } from 'node:crypto';
import type { Context } from 'koa';
import Provider, { type Adapter, errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { Documents } from './oidc-document.ts';

/** The codes and tokens that a request to the token endpoint is to use up. */
const consumptions = new WeakMap<object, (() => Promise<void>)[]>();

/** Whether the request at hand is to the token endpoint. */
export const isTokenRequest = () => Provider.ctx?.oidc?.route === 'token';

/**
 * Uses up codes and refresh tokens when the response is known, and only if it has tokens: oidc-provider would do it before it
 * checks the resource and the account, and an error must not cost a token.
 */
export function consumeWithTokens(provider: Provider): void {
  provider.use(async (ctx, next) => {
    const due: (() => Promise<void>)[] = [];
    consumptions.set(ctx, due);
    await next();
    if (ctx.status !== 200) return;
    try {
      for (const consume of due) await consume();
    } catch (error) {
      if (!(error instanceof errors.InvalidGrant)) throw error;
      ctx.status = 400;
      ctx.body = { error: error.error, error_description: error.error_description };
      provider.emit('grant.error', ctx as KoaContextWithOIDC, error);
    }
  });
}

/** At the end of a request to the token endpoint, else at once. */
async function consumeInTime(consume: () => Promise<void>): Promise<void> {
  const due = isTokenRequest() ? consumptions.get(Provider.ctx as Context) : undefined;
  if (due === undefined) await consume();
  else due.push(consume);
}

/**
 * A code works once (RFC 6749 §4.1.2): of several concurrent requests, the one whose update matches succeeds. The others fail
 * with invalid_grant, after `onReuse` has ended the grant. Much later, oidc-provider finds it consumed and ends the grant: for
 * that it is kept for `keepSeconds`, or else until it expires.
 */
export function consumeOnce(
  documents: Documents,
  { keepSeconds, onReuse }: { keepSeconds?: number; onReuse: (grantId: string) => Promise<void> },
) {
  return (id: string): Promise<void> =>
    consumeInTime(async () => {
      const kept = keepSeconds === undefined ? {} : { expires_at: new Date(Date.now() + keepSeconds * 1000) };
      const used = await markConsumed(documents, id, kept);
      if (used === undefined) return;
      if (used?.grant_id !== undefined) await onReuse(used.grant_id);
      throw new errors.InvalidGrant('it has already been used');
    });
}

/** Undefined if this is the first use; else what is stored. */
async function markConsumed(documents: Documents, id: string, more: object = {}) {
  const _id = hash('sha256', id, 'base64url');
  const change = { $set: { consumed_at: new Date(), ...more } };
  const { modifiedCount } = await documents.updateOne({ _id, consumed_at: null }, change);
  return modifiedCount === 1 ? undefined : documents.findOne({ _id }, { projection: { grant_id: 1 } });
}

/**
 * A refresh token that was rotated a moment ago gets the same successor again: there may be two tabs, or a response was lost. Later,
 * oidc-provider finds it consumed and ends the family (RFC 9700 §4.14.2). Revoking it ends the family at any time (RFC 7009 §2.1).
 */
export function rotated(
  adapter: Adapter,
  documents: Documents,
  options: { seconds: number; onRepeated(ctx: KoaContextWithOIDC): Promise<void> },
): Adapter {
  return {
    ...adapter,
    async find(id) {
      const payload = await adapter.find(id);
      const consumed = payload?.consumed as number | undefined;
      if (!isTokenRequest() || consumed === undefined) return payload;
      const { consumed: _, ...unconsumed } = payload as { consumed: number };
      return Date.now() / 1000 - consumed < options.seconds ? unconsumed : payload;
    },
    async consume(id) {
      // Not known any more when the response is.
      const ctx = Provider.ctx as KoaContextWithOIDC;
      await consumeInTime(async () => {
        const used = await markConsumed(documents, id);
        if (used === undefined) return;
        if (used === null) throw new errors.InvalidGrant('its grant has ended');
        await options.onRepeated(ctx);
      });
    },
  };
}

/**
 * Makes the successor of a refresh token from that token, so that the same one can be returned again although only hashes are stored.
 * Nobody else has the key.
 */
export function deriveSuccessors(provider: Provider, key: Buffer): void {
  const { prototype } = provider.RefreshToken as unknown as { prototype: { generateTokenId(): string } };
  const { generateTokenId } = prototype;
  prototype.generateTokenId = function generateRefreshTokenId() {
    const predecessor = Provider.ctx?.oidc.entities.RotatedRefreshToken?.jti;
    if (predecessor === undefined) return generateTokenId.call(this);
    return createHmac('sha256', key).update(predecessor).digest('base64url');
  };
}
