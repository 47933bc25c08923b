import type { GivenCapability } from '../authority/authority-table.ts';
import type { Given } from '../authority/given.ts';
import { type Application, liveSecrets } from './application.ts';
import { publicKeyIds } from './public-keys.ts';

/** A credential by which the application gets tokens for itself. */
export async function findCredential(
  { id, jwks, jwksGiven, secrets, federatedCredentials }: Application,
  credentialId: string,
): Promise<{ kind: GivenCapability; given: Given | undefined; issuer?: string } | undefined> {
  const federated = federatedCredentials.find((it) => it.id === credentialId);
  if (federated !== undefined)
    return { kind: 'federated_credential', given: federated.given, issuer: federated.issuer };
  if (jwks !== undefined) {
    const isThere = (await publicKeyIds(id, jwks)).includes(credentialId);
    return isThere ? { kind: 'public_keys', given: jwksGiven } : undefined;
  }
  const secret = liveSecrets({ secrets }).find((it) => it.id === credentialId);
  return secret && { kind: 'client_secret', given: secret.given };
}
