import { errors } from 'oidc-provider';

/** An `invalid_grant` error with its reason, which oidc-provider would only log. Its characters are limited (RFC 6749 §5.2). */
export function invalidGrant(reason: string): errors.InvalidGrant {
  const description = reason.replaceAll(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "'");
  return Object.assign(new errors.InvalidGrant(reason), { error_description: description });
}
