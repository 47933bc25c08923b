import type { Revocation } from '@gatehouse/verify/revocations';
import type { Audit } from '../core/audit/audit.ts';
import type { Ports } from '../core/ports.ts';
import type { IdentityModule } from '../identity-module.ts';
import { createKeyAdministration } from './key-administration.ts';
import { createKeyRotationScheduler } from './key-rotation-scheduler.ts';
import { signingKeyRoutes } from './signing-key-routes.ts';
import { createSigningKeyStore } from './signing-key-store.ts';
import type { SigningKeySet } from './signing-keys.ts';
import { createSigningKeySealer } from './signing-keys.ts';

/** The signing keys of this service, their rotation, and the API by which admins rotate them. */
export function keys(core: Ports<'tokens'>): IdentityModule {
  const { provider, revocations, audit, logger } = core;
  const recordRotation = createRotationAudit(audit);
  const store = createSigningKeyStore(core.connection);
  const sealer = createSigningKeySealer(core.masterKeys);
  const scheduler = createKeyRotationScheduler({
    store,
    sealer,
    rotateEveryDays: core.config.rotateKeysEveryDays,
    previousForSeconds: core.longestTokenSeconds,
    async onChange(set) {
      await provider.reload(set);
      await recordRotation(set);
    },
    onDropped: (kid) => revocations.write([{ kind: 'key', id: kid }]),
    logger,
  });
  // Another replica has dropped a key, with which this one must not sign any more.
  const wakeOnDroppedKey = ({ kind }: Revocation) => {
    if (kind === 'key') scheduler.wake();
  };
  const administration = createKeyAdministration({ store, sealer, audit, onRotated: scheduler.wake });
  return {
    apis: [signingKeyRoutes({ ...core, keys: administration })],
    parts: [scheduler],
    metrics: scheduler.metrics,
    extensions: { revocationListeners: [wakeOnDroppedKey] },
  };
}

/** Records when this replica begins to sign with other keys; the first that it gets are no change. */
function createRotationAudit(audit: Audit): (keys: SigningKeySet) => Promise<void> {
  let signing: string | undefined;
  return async ({ currentKid }) => {
    const before = signing;
    signing = Object.values(currentKid).join(' ');
    if (before !== undefined && before !== signing) {
      await audit.record({ action: 'keys.rotated', details: currentKid });
    }
  };
}
