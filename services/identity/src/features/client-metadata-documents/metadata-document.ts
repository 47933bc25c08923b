import { bodyValidator } from '@gatehouse/api/http/schema';
import { MAX_DETAILS, ServiceError } from '@gatehouse/core/errors';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { isLoopback } from '@gatehouse/core/web-uris';
import { parseScope } from '@gatehouse/tokens/scopes';
import { homePageOf } from '@gatehouse/web/branding';
import { type Static, Type } from 'typebox';
import { type Application, newApplication, type PublicKeySet } from '../../core/applications/application.ts';
import { settingsProblems } from '../../core/applications/application-rules.ts';
import { readPublicKeys, readPublicKeysUri } from '../../core/applications/public-keys.ts';

/** As long as the client_id in a batch of usage may be. */
const MAX_URL = 128;

const Text = Type.Optional(Type.String({ maxLength: 2000 }));
const Texts = Type.Optional(Type.Array(Type.String({ maxLength: 2000 }), { maxItems: 20 }));
/** The members of a document that are read (RFC 7591 §2). Others have no effect. */
const Document = Type.Object({
  client_id: Type.String(),
  client_name: Type.String(),
  redirect_uris: Type.Array(Type.String({ maxLength: 2000 }), { minItems: 1, maxItems: 20 }),
  token_endpoint_auth_method: Text,
  jwks: Type.Optional(Type.Object({}, { additionalProperties: true })),
  jwks_uri: Text,
  grant_types: Texts,
  response_types: Texts,
  scope: Text,
  client_uri: Text,
  policy_uri: Text,
  tos_uri: Text,
  dpop_bound_access_tokens: Type.Optional(Type.Boolean()),
  require_pushed_authorization_requests: Type.Optional(Type.Boolean()),
});
const readDocument = bodyValidator(Document);

/**
 * Why a URL cannot be a client_id; undefined when it can (draft-ietf-oauth-client-id-metadata-document §3). Plain HTTP is for
 * development: requests reach this machine only where the operator allows it.
 */
export function clientIdProblem(clientId: string): string | undefined {
  const url = URL.parse(clientId);
  if (url === null) return 'is not a URL';
  if (clientId.length > MAX_URL) return `must have at most ${MAX_URL} characters`;
  if (url.protocol !== 'https:' && !isLoopback(url)) return 'must use https';
  if (url.username !== '' || url.password !== '') return 'must not contain credentials';
  if (url.pathname === '/') return 'must have a path';
  // Compared as it was sent: another spelling of the same URL would be another client.
  if (url.href !== clientId || url.hash !== '' || clientId.includes('#'))
    return 'must be written in its normal form, without dot segments and fragment';
  return undefined;
}

/**
 * The application that a document describes. Throws `invalid` with what is wrong in the document.
 *
 * @param options.scopes that such applications may ask for
 */
export function applicationOfDocument(
  clientId: string,
  document: unknown,
  options: { scopes: readonly string[] },
): Application {
  const metadata = readDocument(document);
  refuseUnless(metadata.client_id === clientId, 'client_id must be the URL of the document');
  const secret = ['client_secret', 'client_secret_expires_at'].find((name) => name in metadata);
  refuseUnless(secret === undefined, `${secret} must not be in a public document`);
  const { token_endpoint_auth_method: method = 'none', grant_types: grants = ['authorization_code'] } =
    metadata;
  refuseUnless(
    method === 'none' || method === 'private_key_jwt',
    'token_endpoint_auth_method must be none or private_key_jwt',
  );
  refuseUnless(grants.includes('authorization_code'), 'grant_types must contain authorization_code');
  const responses = metadata.response_types ?? ['code'];
  refuseUnless(responses.includes('code'), 'response_types must contain code');
  const application = newApplication({
    ...{ id: clientId, name: metadata.client_name.trim(), owner: null, trusted: false },
    ...(method === 'private_key_jwt'
      ? { type: 'web' as const, jwks: publicKeysOf(metadata) }
      : { type: metadata.redirect_uris.every((uri) => uri.startsWith('https:')) ? 'spa' : 'native' }),
    scopes: scopesOf(metadata, options.scopes),
    registrableScopes: options.scopes,
    redirectUris: metadata.redirect_uris,
    dpopBound: metadata.dpop_bound_access_tokens ?? false,
    requirePushedRequests: metadata.require_pushed_authorization_requests ?? false,
    ...omitUndefined({
      clientUri: homePageOf(metadata),
      policyUri: metadata.policy_uri,
      tosUri: metadata.tos_uri,
    }),
  });
  const problems = settingsProblems(application).slice(0, MAX_DETAILS);
  const [first] = problems;
  refuseUnless(first === undefined, `${first?.field.replace(/^name$/, 'client_name')} ${first?.message}`);
  return application;
}

/** All that such applications may ask for, or the part of it that the document names. */
function scopesOf({ scope }: Static<typeof Document>, allowed: readonly string[]): string[] {
  const wanted = scope === undefined ? undefined : parseScope(scope);
  return allowed.filter((name) => wanted?.includes(name) ?? true);
}

/** The keys of a client that authenticates (draft-ietf-oauth-client-id-metadata-document §6.2). */
function publicKeysOf({ jwks, jwks_uri: uri }: Static<typeof Document>): PublicKeySet {
  refuseUnless((jwks === undefined) !== (uri === undefined), 'private_key_jwt needs either jwks or jwks_uri');
  const read = uri === undefined ? readPublicKeys(jwks) : readPublicKeysUri(uri);
  if ('problem' in read) throw new ServiceError('invalid', `${uri ? 'jwks_uri' : 'jwks'} ${read.problem}.`);
  return read;
}

function refuseUnless(isRight: boolean, problem: string): void {
  if (!isRight) throw new ServiceError('invalid', `${problem.replace(/\.$/, '')}.`);
}
