import type { Account, Accounts } from '../../core/accounts/account.ts';
import type { AccountCache } from '../../core/accounts/account-cache.ts';
import type { Application, ApplicationStore } from '../../core/applications/application.ts';
import { findCredential } from '../../core/applications/find-credential.ts';
import { credentialPermissions } from '../../core/applications/ownership.ts';
import type { Authority } from '../../core/authority/authority.ts';
import type { Extensions } from '../../core/extensions.ts';
import type { EventStream } from './event-stream.ts';

/** A webhook that an application made has the same giver and ends. */
const KIND = 'application_webhook';

export type StreamRight = ReturnType<typeof createStreamRight>;

/** The rights of streams (ADR 47), which rest on their application and the credential that configured them. */
export function createStreamRight(options: {
  applicationStore: Pick<ApplicationStore, 'findById'>;
  authority: Authority<Account>;
  accounts: Pick<Accounts, 'find'>;
  accountCache: Pick<AccountCache, 'find'>;
  /** Whether tokens of an issuer authenticate applications. */
  isTrusted: (issuer: string) => Promise<boolean>;
  extensions: Pick<Extensions, 'publicKeyListeners'>;
}) {
  const { applicationStore, authority, accounts, accountCache } = options;

  async function giverOfCredential(application: Application, credentialId: string) {
    for (const listen of options.extensions.publicKeyListeners) listen(application);
    const found = await findCredential(application, credentialId);
    if (found === undefined) return undefined;
    if (found.issuer !== undefined && !(await options.isTrusted(found.issuer))) return undefined;
    const by = { authority, findOwner: accountCache.find };
    const permissions = await credentialPermissions(application, found, by);
    return permissions?.active === true ? { id: permissions.givenBy ?? application.owner } : undefined;
  }

  /** Undefined for the stream of an application that is gone, or of an earlier owner. */
  async function applicationOf(stream: EventStream): Promise<Application | undefined> {
    const application = await applicationStore.findById(stream.clientId);
    const { owner, consentEpoch } = application ?? {};
    return owner === stream.owner && consentEpoch === stream.consentEpoch ? application : undefined;
  }

  return {
    applicationOf,
    /** The giver on whom a stream rests that this credential configures; undefined if the credential has ended. */
    async rest(
      application: Application,
      credentialId: string,
    ): Promise<Pick<EventStream, 'given'> | undefined> {
      const giver = await giverOfCredential(application, credentialId);
      if (giver === undefined || giver.id === null) return giver && { given: undefined };
      const account = await accounts.find(giver.id);
      if (account === undefined) return undefined;
      const { by, epoch } = authority.givenBy(KIND, account, application);
      return { given: { by, epoch } };
    },
    /** Whether events may be sent to where the stream says. */
    async holds(stream: EventStream): Promise<boolean> {
      const application = await applicationOf(stream);
      if (application === undefined) return false;
      if ((await giverOfCredential(application, stream.credentialId)) === undefined) return false;
      const { given } = stream;
      return given === undefined || (await authority.giverOf(KIND, given, application)) !== undefined;
    },
  };
}
