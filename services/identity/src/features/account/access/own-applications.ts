import type { Account, Accounts } from '../../../core/accounts/account.ts';
import { type LastUse, liveSecrets } from '../../../core/applications/application.ts';
import type { ApplicationKeys } from '../../../core/applications/application-keys.ts';
import type { Applications } from '../../../core/applications/applications.ts';
import type { Manager } from '../../../core/applications/ownership.ts';
import type { Origin } from '../../../core/audit/audit.ts';
import type { Authority } from '../../../core/authority/authority.ts';
import { type AccessSource, keepAccess } from '../../../core/authority/standing-access.ts';
import { ACCOUNT_CLIENT } from '../../../core/oidc/clients/client-metadata.ts';

/** An application that a person has registered, with what it can authenticate by. */
export type OwnApplication = {
  clientId: string;
  name: string;
  hasPublicKeys: boolean;
  federated: { name: string; issuer: string; lastUse: LastUse | null }[];
  secrets: { label: string | null; lastFour: string | null; createdAt: Date; lastUse: LastUse | null }[];
  keys: { name: string; lastFour: string | null; lastUse: LastUse | null }[];
  lastUse: LastUse | null;
};

export type OwnApplications = {
  list(accountId: string, origin: Origin): Promise<OwnApplication[]>;
  /**
   * Ends the secrets, public keys, API keys, tokens and members of a person's applications, their registration tokens and their logins at
   * the API, and pauses their webhooks. The applications stay and can get new credentials.
   */
  endCredentials(accountId: string, origin: Origin): Promise<void>;
  /** Ends everything that acts for the person but for the entries with these ids, and pauses their webhooks. */
  revokeAccess(account: Account, except: readonly string[], origin: Origin): Promise<void>;
};

const PAGE = 100;

const byPerson = ({ address, userAgent, requestId }: Origin) => ({
  ...{ client_id: ACCOUNT_CLIENT, address, user_agent: userAgent ?? null, request_id: requestId },
});

/** A person's own applications, for the account pages. */
export function createOwnApplications(options: {
  applications: Pick<Applications, 'list'>;
  accounts: Pick<Accounts, 'revoke'>;
  authority: Pick<Authority, 'givenBy'>;
  sources: readonly AccessSource<Account>[];
  applicationKeys: readonly Pick<ApplicationKeys, 'list'>[];
}): OwnApplications {
  const { applications, applicationKeys } = options;

  /** With the role of a user, as admins manage those of others, too. */
  const managerOf = (id: string, origin: Origin): Manager => ({
    id,
    role: 'user',
    epoch: 0,
    clientId: ACCOUNT_CLIENT,
    origin,
  });

  async function* of(manager: Manager) {
    for (let after: string | undefined; ; ) {
      const page = await applications.list(manager, { after, limit: PAGE });
      yield* page.applications;
      if (page.next === undefined) return;
      after = page.next;
    }
  }

  return {
    async list(accountId, origin) {
      const manager = managerOf(accountId, origin);
      const own: OwnApplication[] = [];
      for await (const application of of(manager)) {
        own.push({
          clientId: application.id,
          name: application.name,
          hasPublicKeys: application.jwks !== undefined,
          federated: [...application.federatedCredentials],
          secrets: liveSecrets(application),
          keys: (await Promise.all(applicationKeys.map((it) => it.list(manager, application.id)))).flat(),
          lastUse: application.lastUse,
        });
      }
      return own;
    },
    async endCredentials(accountId, origin) {
      await options.accounts.revoke(accountId, { everything: false, by: byPerson(origin) });
    },
    async revokeAccess(account, except, origin) {
      if (except.length > 0) await keepAccess(options, account, except);
      await options.accounts.revoke(account.id, { everything: true, kept: except, by: byPerson(origin) });
    },
  };
}
