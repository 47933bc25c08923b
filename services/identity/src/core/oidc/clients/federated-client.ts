import { requestInfo } from '@gatehouse/server/requests';
import type { Context } from 'koa';
import type { FederatedCredential } from '../../applications/application.ts';
import type { Support } from '../../revocations/derived-token-store.ts';

/** A client that has authenticated by a token of a trusted issuer. */
export type FederatedClient = {
  clientId: string;
  /** It stands for the token in this request alone. */
  secret: string;
  credential: Pick<FederatedCredential, 'id' | 'given'>;
  /** `gid` of what the client gets for itself: revoking it ends everything that rests on the issuer. */
  grantId: string;
  /** The job or pod, for the request log. */
  workload: string;
  /** The only scopes that the client gets for itself by tokens of this issuer; null for any. */
  scopes: readonly string[] | null;
};

/** By the info of a request, which it keeps when it is rewritten. */
const clients = new WeakMap<object, FederatedClient>();

/** Notes who has authenticated in a request. */
export function noteFederatedClient(ctx: Context, client: FederatedClient): void {
  clients.set(requestInfo(ctx.req), client);
}

/** This client, if it has authenticated so in the request. */
export function federatedClient(ctx: Context, clientId: string | undefined): FederatedClient | undefined {
  const client = clients.get(requestInfo(ctx.req));
  return client?.clientId === clientId ? client : undefined;
}

/** Those of the scopes that a client may have which has authenticated by a token of a trusted issuer; all for another client. */
export function withinIssuer(
  ctx: Context,
  clientId: string | undefined,
  scopes: readonly string[],
): readonly string[] {
  const bound = federatedClient(ctx, clientId)?.scopes ?? undefined;
  return bound === undefined ? scopes : scopes.filter((scope) => bound.includes(scope));
}

/** The issuer on which a token rests that a client gets by authenticating with a token of that issuer; nothing for another client. */
export function supportsByIssuer(ctx: Context, clientId: string): Support[] {
  const { grantId } = federatedClient(ctx, clientId) ?? {};
  return grantId === undefined ? [] : [{ kind: 'grant', id: grantId }];
}
