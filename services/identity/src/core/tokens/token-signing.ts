import { unavailable } from '@gatehouse/core/errors';
import type { JWTVerifyGetKey } from 'jose';
import type { EventSigner, TokenSigner } from './token-signer.ts';

type Keys = { signer: TokenSigner; eventSigner: EventSigner; publicKeys: JWTVerifyGetKey };

/** Signs tokens with the current keys, and finds the public key for one. Both throw `unavailable` until there are keys. */
export type TokenSigning = {
  signer(): TokenSigner;
  eventSigner(): EventSigner;
  publicKeys: JWTVerifyGetKey;
  /** Goes on with other keys. */
  change(keys: Keys): void;
};

/** Without keys yet. */
export function createTokenSigning(): TokenSigning {
  let keys: Keys | undefined;
  function loaded(): Keys {
    if (keys === undefined) throw unavailable('The signing keys are not loaded yet.');
    return keys;
  }
  return {
    signer: () => loaded().signer,
    eventSigner: () => loaded().eventSigner,
    publicKeys: (header, token) => loaded().publicKeys(header, token),
    change: (next) => {
      keys = next;
    },
  };
}
