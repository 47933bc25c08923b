import { credentialIn as readCredential } from '@gatehouse/verify/authorization';
import { withServiceErrors } from './verification-error.ts';

/** The credential in an Authorization header. Throws `unauthenticated` when the header is absent or malformed. */
export function credentialIn(header: string | undefined) {
  return withServiceErrors(() => readCredential(header));
}
