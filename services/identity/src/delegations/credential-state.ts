import type { Caller } from '@gatehouse/tokens/caller';
import type { FindOwner } from '../applications/ownership.ts';
import { LOGIN_CLIENT } from '../logins/logins.ts';
import { isFirstParty } from '../oidc/client-metadata.ts';

/** What is remembered of the credential of a request: what it came from, and the epochs that these had. */
export type Credential = Pick<Caller, 'clientId' | 'grantId' | 'keyId' | 'epoch'> & {
  person: { id: string } | undefined;
};

/**
 * Whether what a credential came from is as it was: false once the account, the application, the grant, the login or the
 * API key has been revoked, changed or deleted, or has expired. Rejects when one of them cannot be read.
 */
export function createCredentialState(options: {
  findAccount: FindOwner;
  findApplication: (id: string) => Promise<{ epoch: number } | undefined>;
  /** Whether the grant of a person to an application is still there. */
  grantExists: (id: string) => Promise<boolean>;
  loginExists: (id: string) => Promise<boolean>;
  /** Whether the API key of the application is still there. */
  keyExists: (clientId: string, id: string) => Promise<boolean>;
}): (credential: Credential) => Promise<boolean> {
  return async ({ clientId, person, grantId, keyId, epoch }) => {
    if (person !== undefined) {
      const account = await options.findAccount(person.id);
      if (account?.status !== 'active' || account.epoch !== epoch.subject) return false;
    }
    if (clientId === LOGIN_CLIENT) return grantId !== undefined && (await options.loginExists(grantId));
    // Our own clients are no applications that somebody could change or delete.
    const isOurs = isFirstParty(clientId);
    if (!isOurs && (await options.findApplication(clientId))?.epoch !== epoch.client) return false;
    if (keyId !== undefined && !(await options.keyExists(clientId, keyId))) return false;
    return grantId === undefined || (await options.grantExists(grantId));
  };
}
