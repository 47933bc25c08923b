/** The right to apply a configuration file. One apply at a time has it. */
export type ConfigurationLease = { id: string; expiresAt: Date };

/** The lifetime of a lease that is not renewed. After it, an apply that was interrupted can be repeated. */
export const LEASE_SECONDS = 30;

/** The lease of the deployment, which admins share, and the leases of other people. Writes are durable when they resolve. */
export type LeaseStore = {
  /** Resolves to whether the lease was free or expired before, and to undefined while somebody else has it. */
  take(scope: string, lease: ConfigurationLease): Promise<'free' | 'expired' | undefined>;
  find(scope: string): Promise<ConfigurationLease | undefined>;
  /** Returns false once somebody else has it. */
  renew(scope: string, lease: ConfigurationLease): Promise<boolean>;
  release(scope: string, id: string): Promise<void>;
};
