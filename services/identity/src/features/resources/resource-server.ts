import { ServiceError } from '@gatehouse/core/errors';
import { requestInfo } from '@gatehouse/server/requests';
import type { Caller } from '@gatehouse/tokens/caller';
import { REVOCATIONS_READ } from '@gatehouse/tokens/scopes';
import type { Context } from 'koa';
import type { AccountCache } from '../../core/accounts/account-cache.ts';
import type { Application } from '../../core/applications/application.ts';
import type { Applications } from '../../core/applications/applications.ts';
import type { Authentication } from '../../http/authentication.ts';

/** An application of type resource that makes a request, and the person who owns it. */
export type ResourceServer = {
  clientId: string;
  owner: string;
  consentEpoch: number;
  /** Whether a member of the application gave the credential. */
  isOfMember: boolean;
  /** The access token of the request; undefined with HTTP Basic. */
  token: { id: string | undefined; expiresAt: number } | undefined;
};

/** The credentials of HTTP Basic, each part encoded as in a form (RFC 6749 §2.3.1). */
const BASIC = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i;

/**
 * Returns a function that finds the resource server of a request: by HTTP Basic, or by a token that it has for itself with the scope
 * revocations:read. For any other valid token it returns the caller. Throws `unauthenticated` for credentials that are not valid, and
 * `forbidden` for other applications.
 */
export function createResourceServerAuthentication(options: {
  applications: Pick<Applications, 'find' | 'checkSecret' | 'used'>;
  accountCache: Pick<AccountCache, 'find'>;
  authentication: Pick<Authentication, 'countUnauthenticated' | 'countApplication'>;
  authenticate(ctx: Context): Promise<Caller>;
}): (ctx: Context) => Promise<{ server: ResourceServer } | { server: undefined; caller: Caller }> {
  const { applications, accountCache, authentication } = options;

  async function byBasic(ctx: Context, encoded: string): Promise<ResourceServer> {
    const { address } = requestInfo(ctx.req);
    const text = Buffer.from(encoded, 'base64').toString('utf8');
    const [id = '', secret = ''] = text.split(/:(.*)/s).map(formDecoded);
    const checked = await applications.checkSecret(id, secret, address);
    const application = checked && (await applications.find(id));
    if (application === undefined) {
      await authentication.countUnauthenticated(ctx);
      throw new ServiceError('unauthenticated', 'The client ID or the client secret is not valid.', {
        headers: { 'www-authenticate': 'Basic realm="gatehouse", charset="UTF-8"' },
      });
    }
    applications.used(id, address);
    await authentication.countApplication(ctx, id);
    const { given } = checked ?? {};
    const isOfMember = given !== undefined && given.by !== application.owner;
    return resourceServerOf(application, { isOfMember, token: undefined });
  }

  async function resourceServerOf(
    application: Application | undefined,
    credential: Pick<ResourceServer, 'isOfMember' | 'token'>,
  ): Promise<ResourceServer> {
    const { id: clientId, type, owner, consentEpoch } = application ?? {};
    const isUsable = typeof owner === 'string' && (await accountCache.find(owner))?.status === 'active';
    if (clientId === undefined || consentEpoch === undefined || type !== 'resource' || !isUsable)
      throw new ServiceError('forbidden', 'This is for applications of type resource.');
    return { clientId, owner, consentEpoch, ...credential };
  }

  return async (ctx) => {
    const [, encoded] = BASIC.exec(ctx.get('authorization')) ?? [];
    if (encoded !== undefined) return { server: await byBasic(ctx, encoded) };
    const caller = await options.authenticate(ctx);
    if (!caller.scopes.has(REVOCATIONS_READ)) return { server: undefined, caller };
    const { clientId, givenBy, tokenId: id, expiresAt } = caller;
    const credential = { isOfMember: givenBy !== undefined, token: { id, expiresAt } };
    return { server: await resourceServerOf(await applications.find(clientId), credential) };
  };
}

function formDecoded(text: string): string {
  return new URLSearchParams(`value=${text.replaceAll('&', '%26')}`).get('value') ?? '';
}
