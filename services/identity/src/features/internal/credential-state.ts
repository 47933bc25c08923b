import type { Caller } from '@gatehouse/tokens/caller';
import type { ApplicationKeys } from '../../core/applications/application-keys.ts';
import type { FindOwner } from '../../core/applications/ownership.ts';
import { isFirstParty } from '../../core/oidc/clients/client-metadata.ts';
import type { ProgramSessions } from '../../core/sessions/program-sessions.ts';

/** The state of the credential of a request: its account, application, grant and key, and their epochs. */
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
  /** Whether the grant of a person to an application is still there, or the issuer on which a machine’s token rests is in force. */
  grantExists: (id: string) => Promise<boolean>;
  programs: readonly Pick<ProgramSessions, 'clientId' | 'exists'>[];
  applicationKeys: readonly Pick<ApplicationKeys, 'exists'>[];
}): (credential: Credential) => Promise<boolean> {
  return async ({ clientId, person, grantId, keyId, epoch }) => {
    if (person !== undefined) {
      const account = await options.findAccount(person.id);
      if (account?.status !== 'active' || account.epoch !== epoch.subject) return false;
    }
    const program = options.programs.find((it) => it.clientId === clientId);
    if (program !== undefined) return grantId !== undefined && (await program.exists(grantId));
    // Our own clients are no applications that somebody could change or delete.
    const isOurs = isFirstParty(clientId);
    if (!isOurs && (await options.findApplication(clientId))?.epoch !== epoch.client) return false;
    if (keyId !== undefined) {
      const found = await Promise.all(options.applicationKeys.map(({ exists }) => exists(clientId, keyId)));
      if (!found.includes(true)) return false;
    }
    return grantId === undefined || (await options.grantExists(grantId));
  };
}
