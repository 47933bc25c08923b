import type { Audit } from '../audit/audit.ts';
import type { SigningKeySet } from './signing-keys.ts';

/** Records when this replica begins to sign with other keys; the first that it gets are no change. */
export function createRotationAudit(audit: Pick<Audit, 'record'>): (keys: SigningKeySet) => Promise<void> {
  let signing: string | undefined;
  return async ({ currentKid }) => {
    const before = signing;
    signing = Object.values(currentKid).join(' ');
    if (before !== undefined && before !== signing) {
      await audit.record({ action: 'keys.rotated', details: currentKid });
    }
  };
}
