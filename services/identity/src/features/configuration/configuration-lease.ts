/** The right to apply a configuration file, which one at a time has. */
export type ConfigurationLease = { id: string; expiresAt: Date };

/** Unless it is renewed. An apply that was broken off can be repeated after that. */
export const LEASE_SECONDS = 30;

/** The leases of the deployment, which admins take, and of people. Writes are durable when they resolve. */
export type LeaseStore = {
  /** Whether there was none, or one that had expired; undefined while somebody else has it. */
  take(scope: string, lease: ConfigurationLease): Promise<'free' | 'expired' | undefined>;
  find(scope: string): Promise<ConfigurationLease | undefined>;
  /** Returns false once somebody else has it. */
  renew(scope: string, lease: ConfigurationLease): Promise<boolean>;
  release(scope: string, id: string): Promise<void>;
};
