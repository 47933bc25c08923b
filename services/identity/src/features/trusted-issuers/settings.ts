import { addresses, described, json, optional, url } from '@gatehouse/core/config';
import { readPublicKeys } from '../../core/applications/public-keys.ts';

export const trustedIssuerSettings = {
  trustedIssuerNetworks: described(
    'Private networks in which the keys of trusted issuers, and those of applications (`jwks_uri`), may be. Public addresses need no entry.',
    addresses('IDENTITY_TRUSTED_ISSUER_NETWORKS'),
  ),
  clientAssertionIssuer: described(
    'The issuer of the tokens with which services authenticate in place of secrets, such as a Kubernetes cluster. Set together with the subjects of services (`…_CLIENT_ASSERTION_SUBJECT`).',
    { ...optional(url('IDENTITY_CLIENT_ASSERTION_ISSUER', ['https:'])), isSecret: false },
    'https://kubernetes.default.svc.cluster.local',
  ),
  clientAssertionJwks: described(
    'The public keys of this issuer as a JWK set, such as `kubectl get --raw /openid/v1/jwks` prints.',
    {
      ...optional(
        json('IDENTITY_CLIENT_ASSERTION_JWKS', 'a JWK set in JSON', readKeys),
        'they are fetched from where the discovery document of the issuer says',
      ),
      isSecret: false,
    },
    '{"keys":[{"kty":"RSA","kid":"1","n":"…","e":"AQAB"}]}',
  ),
};

function readKeys(value: unknown) {
  const keys = readPublicKeys(value);
  if ('problem' in keys) throw new Error(keys.problem);
  return keys;
}
