import type { FieldProblem } from '@gatehouse/core/errors';
import type { Application, ApplicationChanges } from './application.ts';

type Settings = Pick<
  Application,
  | 'securityProfile'
  | 'type'
  | 'jwks'
  | 'idTokenAlgorithm'
  | 'dpopBound'
  | 'legacyImplicit'
  | 'requirePushedRequests'
  | 'redirectUris'
  | 'deviceFlow'
>;

/** FAPI 2.0 Security Profile §5.4.1; Ed25519 is RFC 9864's name for what the profile calls EdDSA. */
export const FAPI2_ALGORITHMS = ['PS256', 'ES256', 'EdDSA', 'Ed25519'];

/** The settings that a security profile requires, added to changes that choose one and leave them out. */
export function withRequired<C extends ApplicationChanges>(changes: C, type: Application['type']): C {
  if (changes.securityProfile === undefined) return changes;
  const required = { dpopBound: true, idTokenAlgorithm: 'ES256' } as const;
  return { ...required, ...(type === 'machine' ? {} : { requirePushedRequests: true }), ...changes };
}

/** The settings of an application that conflict with its security profile. */
export function securityProfileProblems(settings: Settings): FieldProblem[] {
  const { securityProfile: profile, type, jwks } = settings;
  if (profile === undefined) return [];
  const problems: FieldProblem[] = [];
  const require = (holds: boolean, field: string, message: string) => {
    if (!holds) problems.push({ field, message: `${message} (security_profile ${profile})` });
  };
  const confidential = type === 'web' || type === 'machine';
  require(confidential, 'security_profile', 'is for applications of type web and machine');
  // §5.3.2.1, 6.
  require(jwks !== undefined, 'jwks', 'is required: the application authenticates by private_key_jwt');
  // §5.4.1, 1. An RSA key without an alg may be used with PS256.
  const algorithms = jwks?.keys.flatMap(({ alg }) => alg ?? []) ?? [];
  const allowed = algorithms.every((alg) => FAPI2_ALGORITHMS.includes(alg));
  require(allowed, 'jwks', `must have keys whose alg is one of ${FAPI2_ALGORITHMS.join(', ')}`);
  require(settings.idTokenAlgorithm !== 'RS256', 'id_token_signed_response_alg', 'must be ES256');
  // §5.3.2.1, 4 and 5.
  require(settings.dpopBound, 'dpop_bound_access_tokens', 'must be true');
  // §5.3.2.2, 1 and 3.
  require(!settings.legacyImplicit, 'legacy_implicit', 'must be false');
  require(!settings.deviceFlow, 'device_flow', 'must be false');
  const pushes = type === 'machine' || settings.requirePushedRequests;
  require(pushes, 'require_pushed_authorization_requests', 'must be true');
  // §5.3.2.2, 8.
  settings.redirectUris.forEach((uri, i) => {
    require(!uri.startsWith('http:'), `redirect_uris.${i}`, 'must use https');
  });
  return problems;
}
