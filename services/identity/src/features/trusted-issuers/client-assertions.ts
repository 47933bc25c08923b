import { hash, randomUUID } from 'node:crypto';
import { ServiceError } from '@gatehouse/core/errors';
import { requestInfo } from '@gatehouse/server/requests';
import { JWT_BEARER } from '@gatehouse/tokens/client-assertion';
import type { JWTPayload } from 'jose';
import type { Context } from 'koa';
import type {
  Application,
  ApplicationStore,
  FederatedCredential,
} from '../../core/applications/application.ts';
import type { Authority } from '../../core/authority/authority.ts';
import type { ClientAssertions } from '../../core/extensions.ts';
import { createLastUsedRecorder } from '../../core/last-used.ts';
import type { OidcStore } from '../../core/oidc/adapter/oidc-adapter.ts';
import { noteFederatedClient } from '../../core/oidc/clients/federated-client.ts';
import type { IssuerKeys } from './issuer-keys.ts';
import { findDifference } from './rule.ts';
import type { ServiceAssertions } from './service-assertions.ts';
import { JWT_SPIFFE, trustDomainOf } from './spiffe.ts';
import { grantIdOf, type TrustedIssuer } from './trusted-issuer.ts';
import { authenticates, type TrustedIssuers } from './trusted-issuers.ts';
import { SKEW, TokenProblem, unverifiedClaims, verifyWorkloadToken } from './workload-token.ts';

/** The issuer of an assertion that is not verified, by its type. */
const ISSUERS: ReadonlyMap<string | null, (claims: JWTPayload) => unknown> = new Map([
  [JWT_BEARER, ({ iss }: JWTPayload) => iss],
  [JWT_SPIFFE, trustDomainOf],
]);

/** Authenticates applications by the tokens of trusted issuers that match their federated credentials (RFC 7523 §3). */
export function createClientAssertions(options: {
  issuers: TrustedIssuers;
  keys: IssuerKeys;
  store: Pick<ApplicationStore, 'findById' | 'findNow' | 'credentialUsed'>;
  authority: Pick<Authority, 'giverOf'>;
  useOnce: OidcStore['useOnce'];
  serviceSecret: ServiceAssertions;
  /** The audiences of tokens, unless a credential names another. */
  audiences: readonly string[];
}): ClientAssertions {
  const { issuers, keys, store, authority, audiences, useOnce } = options;
  const recordUse = createLastUsedRecorder((ids, use) => {
    const [id = '', credentialId = ''] = ids.split(' ');
    return store.credentialUsed(id, 'federated_credentials', credentialId, use);
  });

  async function matchIn(application: Application | undefined, claims: JWTPayload) {
    // FAPI 2.0 Security Profile §5.3.2.1: private_key_jwt.
    if (application === undefined || application.securityProfile !== undefined) return undefined;
    for (const it of application.federatedCredentials) {
      if (findDifference(it, claims, audiences) !== undefined) continue;
      if ((await authority.giverOf('federated_credential', it.given, application)) !== undefined) return it;
    }
    return undefined;
  }

  async function findMatch(clientId: string, claims: JWTPayload): Promise<FederatedCredential | undefined> {
    // Another replica may have added it a moment ago.
    return (
      (await matchIn(await store.findById(clientId), claims)) ??
      (await matchIn(await store.findNow(clientId), claims))
    );
  }

  async function verifyOnce(token: string, issuer: TrustedIssuer): Promise<void> {
    const { jti, exp } = await verifyWorkloadToken(token, issuer, keys);
    if (issuer.reusesTokens) return;
    // The signature has several encodings, and what is signed has one.
    const signed = token.slice(0, token.lastIndexOf('.'));
    const name = typeof jti === 'string' ? `jti ${jti}` : `token ${hash('sha256', signed, 'base64url')}`;
    if (!(await useOnce(`workload ${issuer.issuer} ${name}`, new Date((exp + SKEW) * 1000))))
      throw new TokenProblem('has already been used');
  }

  /** The client that a token authenticates. Throws `unauthenticated`. */
  async function authenticate(clientId: string, token: string, claims: JWTPayload & { iss: string }) {
    const issuer = await issuers.find(claims.iss);
    const isTrusted = issuer !== undefined && authenticates(issuer);
    const counts = isTrusted && (issuer.applications?.includes(clientId) ?? true);
    const credential = counts ? await findMatch(clientId, claims) : undefined;
    if (issuer === undefined || credential === undefined) throw refused(NO_MATCH);
    await verifyOnce(token, issuer).catch((error: unknown) => {
      if (!(error instanceof TokenProblem)) throw error;
      // Else strangers could find out by forged tokens what the rules are.
      throw refused(error.isForged ? NO_MATCH : `The token ${error.message}.`);
    });
    const secret = randomUUID();
    const workload = describeWorkload(claims, credential);
    return { clientId, secret, credential, scopes: issuer.scopes, grantId: grantIdOf(issuer), workload };
  }

  return {
    isInForce: issuers.isInForce,
    isTrusted: issuers.isTrusted,

    async accept(ctx, form) {
      const token = assertionIn(ctx, form);
      if (token === undefined) return;
      const claims = unverifiedClaims(token);
      const type = form.get('client_assertion_type');
      const iss = claims && ISSUERS.get(type)?.(claims);
      // oidc-provider does not know the type, and would call the request malformed.
      if (iss === undefined && type === JWT_SPIFFE) throw refused('The client_assertion is no JWT-SVID.');
      if (claims === undefined || typeof iss !== 'string') return;
      const clientId = form.get('client_id') ?? undefined;
      const serviceSecret = clientId && (await options.serviceSecret(clientId, token));
      if (serviceSecret) return replaceAssertion(form, serviceSecret);
      if (iss === clientId) return;
      // The client's own (private_key_jwt), without its client_id in the form.
      if (iss === claims.sub && (await issuers.find(iss)) === undefined) return;
      if (clientId === undefined)
        throw refused('The token of another issuer does not name the client: send the client_id as well.');
      const info = requestInfo(ctx.req);
      try {
        const client = await authenticate(clientId, token, { ...claims, iss });
        noteFederatedClient(ctx, client);
        info.workload = client.workload;
        recordUse(`${clientId} ${client.credential.id}`, info.address);
        replaceAssertion(form, client.secret);
      } catch (error) {
        // Its owner sees in the request log why it was refused.
        if ((await store.findById(clientId)) !== undefined)
          Object.assign(info, { client: clientId, namedOnly: true });
        throw error;
      }
    },
  };
}

const NO_MATCH =
  'No federated credential of this application matches the token, its issuer is not trusted, or the signature is wrong.';
const MAX_WORKLOAD = 200;

/** The subject of a token and the claims that a rule names, for the request log. */
function describeWorkload({ sub = '', ...claims }: JWTPayload, rule: FederatedCredential): string {
  const named = rule.claims.map(([name]) => `${name} ${String(claims[name])}`);
  return [sub, ...named].join(', ').slice(0, MAX_WORKLOAD);
}

const refused = (message: string) => new ServiceError('unauthenticated', message);

/** The assertion of a request that authenticates in no other way, as oidc-provider requires. */
function assertionIn(ctx: Context, form: URLSearchParams): string | undefined {
  if (!form.has('client_assertion')) return undefined;
  const isOnce = ['client_id', 'client_assertion', 'client_assertion_type'].every(
    (name) => form.getAll(name).length <= 1,
  );
  if (!isOnce || form.has('client_secret') || ctx.get('authorization') !== '') return undefined;
  return form.get('client_assertion') ?? undefined;
}

/** oidc-provider compares the secret (see compareClientSecret). */
function replaceAssertion(form: URLSearchParams, secret: string): void {
  form.delete('client_assertion');
  form.delete('client_assertion_type');
  form.set('client_secret', secret);
}
