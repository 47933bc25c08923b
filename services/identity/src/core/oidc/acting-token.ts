import { requestInfo } from '@gatehouse/server/requests';
import type { Grant, KoaContextWithOIDC } from 'oidc-provider';
import type { Account } from '../accounts/account.ts';
import { roleIn } from '../applications/ownership.ts';
import { type Audit, originOf } from '../audit/audit.ts';
import type { Support } from '../revocations/derived-token-store.ts';
import type { Revocations } from '../revocations/revocations.ts';
import { actOf } from '../tokens/act-claim.ts';
import { acceptedUntil } from '../tokens/clock-margin.ts';
import type { TokenSigning } from '../tokens/token-signing.ts';
import { pinnedProfiles } from './clients/client-credentials.ts';
import { isFapi2 } from './clients/fapi.ts';
import { supportsByIssuer } from './clients/federated-client.ts';
import { roleByGrant } from './epochs/consent-epochs.ts';
import type { ProtectedResource } from './protected-resource.ts';
import type { Permitted } from './provider-options.ts';

export type ActingTokenOptions = {
  revocations: Pick<Revocations, 'noteIssued' | 'noteDerived'>;
  signing: Pick<TokenSigning, 'signer'>;
  audit: Pick<Audit, 'record'>;
  onTokenIssued(clientId: string): void;
};

/** A token by which the client of a request acts for a person. */
type ActingToken = {
  permitted: Permitted;
  account: Account;
  /** The epoch of the account that it belongs to. */
  epoch: number;
  /** The grant of the person behind it, if there is one. */
  grant?: Grant;
  /** The applications that act, the latest first. */
  actors: readonly string[];
  /** The API that it is for; `resource` is undefined for our own. */
  target: { audience: string; resource: ProtectedResource | undefined };
  scopes: readonly string[];
  /** In seconds. */
  lifetime: number;
  /** The thumbprint of the key that it is bound to. */
  jkt: string | undefined;
  /** Everything that ends it, beside its own claims and the issuer by which the client has authenticated. */
  restsOn: readonly Support[];
  /** Of the entry in the audit log, beside the API and the scopes. */
  details: object;
};

/** Signs the token, and gives it away once all that must end it knows of it. Returns the response (RFC 6749 §5.1). */
export async function issueActingToken(
  { revocations, signing, audit, onTokenIssued }: ActingTokenOptions,
  ctx: KoaContextWithOIDC,
  { permitted, account, grant, actors, target, lifetime, jkt, ...it }: ActingToken,
) {
  const { application, owner } = permitted;
  const { id: clientId } = application;
  const [subject, scope, grantId] = [account.id, it.scopes.join(' '), grant?.jti];
  const epoch = { client: application.epoch, subject: it.epoch };
  const resource = target.resource?.id;
  const { token, jti } = await signing.signer()({
    ...{ subject, clientId, audience: target.audience, scope, lifetime },
    ...(isFapi2(ctx.oidc.client) ? { algorithm: 'ES256' } : {}),
    claims: {
      // Without acr and auth_time: nobody has signed in to the application that acts.
      ...{ gid: grantId, epoch, act: actOf(actors) },
      ...(jkt === undefined ? {} : { cnf: { jkt } }),
      // Roles and profiles are those of our API.
      ...(resource === undefined
        ? { roles: [roleByGrant(grant, roleIn({ owner }, account))], ...pinnedProfiles(application) }
        : {}),
    },
  });
  const noted = acceptedUntil(lifetime);
  if (resource !== undefined)
    await revocations.noteIssued({ resource, clientId, subject, grantId, epoch }, noted);
  const restsOn = [...it.restsOn, ...supportsByIssuer(ctx, clientId)];
  await revocations.noteDerived({ tokenId: jti, resource, restsOn }, noted);
  requestInfo(ctx.req).subject = subject;
  onTokenIssued(clientId);
  await audit.record({
    ...{ action: 'token.exchanged', origin: originOf(ctx), actor: null, client: clientId, subject },
    details: { resource: target.audience, scope, ...it.details },
  });
  return {
    access_token: token,
    token_type: jkt === undefined ? 'Bearer' : 'DPoP',
    ...{ expires_in: lifetime, scope },
  };
}
