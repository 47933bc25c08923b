import type { Logger } from '@gatehouse/core/logger';
import type { KeyList } from '@gatehouse/core/sealing';
import type { Connection } from 'mongoose';
import type { Audit } from '../audit/audit.ts';
import type { Revocations } from '../revocations/revocations.ts';
import { createKeyAdministration, type KeyAdministration } from './key-administration.ts';
import { createKeyRotationScheduler, type KeyRotationScheduler } from './key-rotation-scheduler.ts';
import { createSigningKeyStore } from './signing-key-store.ts';
import { createSigningKeySealer, type SigningKeySet } from './signing-keys.ts';

/** The signing keys of this service, and their rotation. */
export function createKeysModule(options: {
  connection: Connection;
  masterKeys: KeyList;
  rotateKeysEveryDays: number;
  previousForSeconds: number;
  provider: { reload(keys: SigningKeySet): Promise<void> };
  revocations: Pick<Revocations, 'write'>;
  audit: Audit;
  logger: Logger;
}): { scheduler: KeyRotationScheduler; administration: KeyAdministration } {
  const { connection, masterKeys, provider, revocations, audit } = options;
  const recordRotation = createRotationAudit(audit);
  const store = createSigningKeyStore(connection);
  const sealer = createSigningKeySealer(masterKeys);
  const scheduler = createKeyRotationScheduler({
    ...{ ...options, store, sealer },
    rotateEveryDays: options.rotateKeysEveryDays,
    async onChange(keys) {
      await provider.reload(keys);
      await recordRotation(keys);
    },
    onDropped: (kid) => revocations.write([{ kind: 'key', id: kid }]),
  });
  const administration = createKeyAdministration({ store, sealer, audit, onRotated: scheduler.wake });
  return { scheduler, administration };
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
