import { ServiceError, unavailable } from '@gatehouse/core/errors';
import { VerifyError } from '@gatehouse/verify/errors';

/** The error of our services for one of @gatehouse/verify; other errors are returned as they are. */
export function toServiceError(error: unknown): unknown {
  if (!(error instanceof VerifyError)) return error;
  const { status, error: code, message, cause, challenge } = error;
  if (status === 503) return unavailable(message, cause);
  const parameters = {
    realm: 'gatehouse',
    // RFC 6750 §3.1: a challenge to a request without a credential has no error.
    ...(code === 'unauthorized' ? {} : { error: code }),
    ...(code === 'insufficient_user_authentication' ? { error_description: message } : {}),
    ...challenge.parameters,
  };
  const quoted = Object.entries(parameters).map(([name, value]) => `${name}="${value}"`);
  return new ServiceError(status === 403 ? 'forbidden' : 'unauthenticated', message, {
    headers: { 'www-authenticate': `${challenge.scheme} ${quoted.join(', ')}` },
    cause,
  });
}

/** Calls a function of @gatehouse/verify, and throws the errors of our services. */
export function withServiceErrors<Result>(run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    throw toServiceError(error);
  }
}
