import { requestInfo } from '@gatehouse/server/requests';
import { errors as joseErrors, jwtVerify } from 'jose';
import type Provider from 'oidc-provider';
import { errors, type Grant, type KoaContextWithOIDC } from 'oidc-provider';
import type { Accounts } from '../../core/accounts/account.ts';
import {
  type Application,
  type AssertionRule,
  ID_TOKEN_ALGORITHMS,
} from '../../core/applications/application.ts';
import { isResourceElsewhere } from '../../core/applications/application-rules.ts';
import { type Audit, originOf } from '../../core/audit/audit.ts';
import type { Authority } from '../../core/authority/authority.ts';
import type { OidcStore } from '../../core/oidc/adapter/oidc-adapter.ts';
import { withinIssuer } from '../../core/oidc/clients/federated-client.ts';
import { isOfConsentEpoch } from '../../core/oidc/epochs/consent-epochs.ts';
import { isCurrent } from '../../core/oidc/epochs/sign-in-epochs.ts';
import { invalidGrant } from '../../core/oidc/invalid-grant.ts';
import { proofKey } from '../../core/oidc/proof-key.ts';
import type { TokenSigning } from '../../core/tokens/token-signing.ts';
import { type AssertionRequest, ID_JAG, readAssertionRequest, scopesWithin } from './exchange-request.ts';

/** In seconds. Nothing ends an assertion sooner. */
const LIFETIME = 300;

export type AssertionOptions = {
  issuer: string;
  accounts: Pick<Accounts, 'find'>;
  authority: Pick<Authority, 'giverOf'>;
  store: Pick<OidcStore, 'grantsOf'>;
  signing: Pick<TokenSigning, 'signer' | 'publicKeys'>;
  audit: Pick<Audit, 'record'>;
  onTokenIssued(clientId: string): void;
};
/** The person of a subject token with how and when they signed in, and the grants that it may rest on. */
type Subject = {
  id: string;
  signIn: { acr?: unknown; amr?: unknown; auth_time?: unknown };
  grants: AsyncIterable<Grant | undefined> | Iterable<Grant | undefined>;
};

/**
 * Issues an Identity Assertion JWT Authorization Grant (draft-ietf-oauth-identity-assertion-authz-grant-03 §4.3): a person who has signed in
 * to the application is known to another authorization server, where the application may act for them, as an admin allows. Returns the
 * response (§4.3.4).
 */
export async function issueIdentityAssertion(
  options: AssertionOptions,
  provider: Provider,
  ctx: KoaContextWithOIDC,
  application: Application,
) {
  const request = readAssertionRequest(ctx.oidc.params);
  const rule = application.identityAssertions.find((it) => it.authorization_server === request.audience);
  const { identityAssertionsGiven: given } = application;
  const isGiven =
    given !== undefined &&
    (await options.authority.giverOf('assertion_rules', given, application)) !== undefined;
  if (rule === undefined || !isGiven)
    throw new errors.InvalidTarget(
      'no admin has allowed this application to get assertions for this audience',
    );
  const resource = resourceOf(rule, request);
  const scopes = scopesWithin(withinIssuer(ctx, application.id, rule.scopes), request.scope);
  const subject = request.isRefreshToken
    ? await readRefreshToken(provider, request.subjectToken, application.id)
    : await readIdToken(options, provider, request.subjectToken, application.id);
  await requireSignedIn(options, subject, application);
  const jkt = await proofKey(provider, ctx);
  const scope = scopes.join(' ');
  const { authorization_server: audience, client_id: clientId } = rule;
  const { token, jti } = await options.signing.signer()({
    ...{ type: 'oauth-id-jag+jwt', subject: subject.id, clientId, audience, scope, lifetime: LIFETIME },
    algorithm: application.idTokenAlgorithm,
    claims: { resource, ...subject.signIn, ...(jkt === undefined ? {} : { cnf: { jkt } }) },
  });
  requestInfo(ctx.req).subject = subject.id;
  options.onTokenIssued(application.id);
  await options.audit.record({
    ...{ action: 'identity_assertion.issued', origin: originOf(ctx), actor: null },
    ...{ client: application.id, subject: subject.id, details: { audience, resource, scope, jti } },
  });
  return {
    ...{ access_token: token, issued_token_type: ID_JAG, token_type: 'N_A' },
    ...{ expires_in: LIFETIME, scope },
  };
}

/** The API there: the one that the request names, or the only one of the rule. Throws `invalid_target`. */
function resourceOf({ resources }: AssertionRule, { resource }: AssertionRequest): string | undefined {
  const [only, ...others] = resources ?? [];
  const named = resource ?? (others.length === 0 ? only : undefined);
  const isListed = named !== undefined && (resources?.includes(named) ?? isResourceElsewhere(named));
  // Without a resource, the other server decides.
  if (!isListed && (named !== undefined || resources !== undefined))
    throw new errors.InvalidTarget('the resource must be one that an admin has allowed at this audience');
  return named;
}

/** A refresh token is validated as for a refresh (§4.3.3). */
async function readRefreshToken(provider: Provider, token: string, clientId: string): Promise<Subject> {
  const found = await provider.RefreshToken.find(token);
  if (found?.clientId !== clientId || !found.isValid || !found.scopes.has('openid'))
    throw invalidGrant('the subject_token is no valid refresh token of this client with the scope openid');
  const { accountId: id, acr, amr, authTime } = found;
  const grant = await provider.Grant.find(found.grantId ?? '');
  return { id, signIn: { acr, amr, auth_time: authTime }, grants: [grant] };
}

/** An ID token names no grant: it rests on those that its client had when it was issued. */
async function readIdToken(
  { issuer, signing, store }: AssertionOptions,
  provider: Provider,
  token: string,
  clientId: string,
): Promise<Subject> {
  const { payload, protectedHeader } = await jwtVerify(token, signing.publicKeys, {
    ...{ issuer, audience: clientId, algorithms: [...ID_TOKEN_ALGORITHMS] },
    requiredClaims: ['sub', 'iat', 'exp'],
  }).catch((error: unknown) => {
    throw error instanceof joseErrors.JOSEError
      ? invalidGrant(`the subject_token is not valid: ${error.message}`)
      : error;
  });
  // Every other JWT of ours has a type, such as access tokens and logout tokens (RFC 8725 §3.11).
  if (protectedHeader.typ !== undefined) throw invalidGrant('the subject_token is no ID token');
  const { sub: id = '', iat = 0, acr, amr, auth_time } = payload;
  async function* grants() {
    for await (const { id: grantId, payload: grant } of store.grantsOf(id))
      if (grant.clientId === clientId && Number(grant.iat) <= iat) yield provider.Grant.find(grantId);
  }
  return { id, signIn: { acr, amr, auth_time }, grants: grants() };
}

/** Throws `invalid_grant` unless the person is active and one of the grants is in force. */
async function requireSignedIn(
  { accounts }: AssertionOptions,
  { id, grants }: Subject,
  { consentEpoch }: Application,
): Promise<void> {
  const account = await accounts.find(id);
  if (account?.status === 'active') {
    for await (const grant of grants) {
      const isOwn = grant?.accountId === id;
      if (isOwn && isCurrent(grant, account) && isOfConsentEpoch(grant, consentEpoch)) return;
    }
  }
  throw invalidGrant('the sign-in behind the subject_token has ended');
}
