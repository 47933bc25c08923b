import { requestInfo } from '@gatehouse/server/requests';
import type { Context } from 'koa';
import type { FederatedCredential } from '../../applications/application.ts';

/** A client that has authenticated by a token of a trusted issuer. */
export type FederatedClient = {
  clientId: string;
  /** It stands for the token in this request alone. */
  secret: string;
  credential: Pick<FederatedCredential, 'id' | 'given'>;
  /** `gid` of what the client gets for itself: revoking it ends everything that rests on the issuer. */
  grantId: string;
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
