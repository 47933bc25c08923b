import { ServiceError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/logger';
import type { Revocation } from '@gatehouse/tokens/revocations';
import { ceilingOf, type Role } from '@gatehouse/tokens/scopes';
import type { Audit, Origin } from '../audit/audit.ts';
import type { Application, ApplicationStore } from './application.ts';
import { NO_CEILING } from './application-rules.ts';

/** The person who manages applications, and how. */
export type Manager = { id: string; role: Role; clientId: string; origin: Origin };

/** What is asked of the accounts: who an owner is now. */
export type Owners = {
  find(id: string): Promise<{ role: Role; status: 'active' | 'inactive'; epoch: number } | undefined>;
};

/** What the management of applications works with. */
export type ApplicationTools = {
  store: ApplicationStore;
  accounts: Owners;
  revocations: { write(entries: readonly Revocation[]): Promise<void> };
  audit: Pick<Audit, 'record'>;
  logger: Logger;
  /** Ends what people have allowed an application that is gone. */
  endGrants(clientId: string): Promise<void>;
  /** How long what is revoked could have lived at most, in seconds. */
  tokenLifetime: number;
};

/** When the last credential that was given out before now has expired, in seconds since the epoch. */
export function lastExpiry({ tokenLifetime }: Pick<ApplicationTools, 'tokenLifetime'>): number {
  return Math.ceil(Date.now() / 1000) + tokenLifetime;
}

/** An application that the manager may see; whether another person's exists is not said. */
export async function findManaged(
  store: ApplicationStore,
  manager: Pick<Manager, 'id' | 'role'>,
  id: string,
): Promise<Application> {
  const application = await store.findNow(id);
  const visible = application !== undefined && (manager.role === 'admin' || application.owner === manager.id);
  if (!visible) throw new ServiceError('not_found', 'There is no such application.');
  return application;
}

/** The scopes that an application can be given: none beyond its owner, unless it stands for itself. */
export async function ceilingFor(
  accounts: Owners,
  { owner, trusted }: Pick<Application, 'owner' | 'trusted'>,
  manager: Pick<Manager, 'role'>,
): Promise<readonly string[]> {
  // The owner of a trusted application cannot give it more than they have themselves.
  if (owner === null || (trusted && manager.role === 'admin')) return NO_CEILING;
  const account = await accounts.find(owner);
  return account === undefined ? [] : ceilingOf(account.role);
}
