import type { Ports, WithSettings } from '../../core/ports.ts';
import type { LostFactors } from '../../core/sessions/second-factor.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { createFactorRecoveries, isReady } from './factor-recoveries.ts';
import { lostFactorsPage } from './factor-recovery-pages.ts';
import { factorRecoveryRoutes } from './factor-recovery-routes.ts';
import { createFactorRecoveryStore } from './factor-recovery-store.ts';
import type { factorRecoverySettings } from './settings.ts';

const DEFAULT_HOURS = 72;

/** The way in for people who have lost all second factors: by mail, after a waiting time. */
export function factorRecovery(
  core: Ports<'accounts' | 'pages'> & WithSettings<typeof factorRecoverySettings>,
): IdentityModule {
  const { extensions, config } = core;
  const waitHours = config.recoveryWaitHours ?? DEFAULT_HOURS;
  if (waitHours === 0) return {};
  const store = createFactorRecoveryStore(core.connection);
  const recoveries = createFactorRecoveries({ ...core, store, waitHours, factors: extensions.factors });
  const lostFactors: LostFactors = {
    async page(account, form, back) {
      const found = await recoveries.find(account);
      const kind = account.email_verified ? ('none' as const) : ('no_address' as const);
      const state =
        found === undefined
          ? { kind }
          : isReady(found)
            ? { kind: 'ready' as const }
            : { kind: 'under_way' as const, readyAt: found.readyAt };
      return lostFactorsPage({ form, username: account.username, waitHours, state, links: { back } });
    },
    begin: recoveries.begin,
    stop: recoveries.stop,
  };
  return {
    routers: [factorRecoveryRoutes({ ...core, recoveries })],
    collections: [store.collection],
    parts: [recoveries.sender],
    extensions: { lostFactors: [lostFactors], erasers: [store.remove] },
  };
}
