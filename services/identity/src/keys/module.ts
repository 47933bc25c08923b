import type { Logger } from '@gatehouse/kit/logger';
import type { Connection } from 'mongoose';
import type { Audit } from '../audit/audit.ts';
import type { Revocations } from '../revocations/revocations.ts';
import { createKeyRotationScheduler, type KeyRotationScheduler } from './key-rotation-scheduler.ts';
import { createRotationAudit } from './rotation-audit.ts';
import { createSigningKeyStore } from './signing-key-store.ts';
import { createSigningKeySealer, type SigningKeySet } from './signing-keys.ts';

/** The signing keys of this service. `reload` puts them to use. */
export function createKeysModule(options: {
  connection: Connection;
  masterKey: Buffer;
  rotateEveryDays: number;
  tokenLifetime: number;
  reload(keys: SigningKeySet): Promise<void>;
  revocations: Pick<Revocations, 'write'>;
  audit: Audit;
  logger: Logger;
}): KeyRotationScheduler {
  const { connection, masterKey, tokenLifetime, reload, revocations, audit } = options;
  const recordRotation = createRotationAudit(audit);
  return createKeyRotationScheduler({
    ...options,
    store: createSigningKeyStore(connection),
    sealer: createSigningKeySealer(masterKey),
    previousForSeconds: tokenLifetime,
    async onChange(keys) {
      await reload(keys);
      await recordRotation(keys);
    },
    onDropped: (kid) => revocations.write([{ kind: 'key', id: kid }]),
  });
}
