import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import { createSealer, deriveKeys, type KeyList, type Sealer } from '@gatehouse/core/sealing';
import { brand } from '@gatehouse/web/brand';
import type { Account } from '../../core/accounts/account.ts';
import type { Text } from '../../texts/texts.ts';
import type { AuthenticatorApp, AuthenticatorAppStore } from './authenticator-app.ts';
import { createRecoveryCodes, hashOfRecoveryCode } from './recovery-codes.ts';

/** A secret that is not stored yet, for the page on which an app is set up. */
export type SetUp = {
  /** In base32, as people type it. */
  secret: string;
  /** The content of the QR code (Key Uri Format of Google Authenticator). */
  uri: string;
  /** The secret as the form sends it back: sealed, for ten minutes and for this context. */
  sealed: string;
};

/** Authenticator apps of accounts (RFC 6238: SHA-1, six digits, 30 seconds, which is what all apps know). */
export type AuthenticatorApps = {
  /** A new secret. `context` is the session, which has to send it back. */
  begin(account: Account, context: string): Promise<SetUp>;
  /** The same set-up again, from what begin() has sealed. Throws `invalid` when it is too old or was not made for this. */
  resume(account: Account, sealed: string, context: string): Promise<SetUp>;
  /**
   * Stores the app of a set-up, if the code is its own; returns the recovery codes, which are shown only now, or undefined for
   * a wrong code. Throws `conflict` when the account has one.
   */
  add(account: Account, setUp: SetUp, code: string): Promise<{ id: string; codes: string[] } | undefined>;
  find(userId: string): Promise<AuthenticatorApp | undefined>;
  /** Whether it is a code of the app that has not been used. */
  verifyCode(app: AuthenticatorApp, code: string): Promise<boolean>;
  verifyRecoveryCode(app: AuthenticatorApp, code: string): Promise<boolean>;
  /** Replaces the recovery codes; throws `not_found` without an app. */
  renewRecoveryCodes(userId: string): Promise<string[]>;
  remove(userId: string, id: string): Promise<boolean>;
  restore(userId: string, id: string, before: Date): Promise<boolean>;
  removeSince(userId: string, time?: Date): Promise<boolean>;
};

const TOTP_OPTIONS = { algorithm: 'SHA1', digits: 6, period: 30 };
/** RFC 6238 §5.2: one step before and after, for clocks and for typing. */
const WINDOW = 1;
/** RFC 4226 §4, R6. */
const SECRET_BYTES = 20;
const SET_UP_MS = 10 * 60_000;
const contextOf = (userId: string) => `authenticator app of ${userId}`;

/** Seals the secrets in the database. */
export function createSecretSealer(masterKeys: KeyList): Sealer {
  return createSealer(deriveKeys(masterKeys, 'authenticator apps'));
}

export function createAuthenticatorApps(options: {
  store: AuthenticatorAppStore;
  masterKeys: KeyList;
}): AuthenticatorApps {
  const { store, masterKeys } = options;
  const sealer = createSecretSealer(masterKeys);
  const setUpSealer = createSealer(deriveKeys(masterKeys, 'set-up of authenticator apps'));
  const setUpContext = ({ id }: Account, context: string) => `${id} ${context}`;

  /** The time step of which it is the code; undefined if it is none of about now. */
  async function stepOf(secret: string, code: string): Promise<number | undefined> {
    if (!/^\d{6}$/.test(code)) return undefined;
    const { Secret, TOTP } = await import('otpauth');
    const now = { ...TOTP_OPTIONS, timestamp: Date.now() };
    const delta = TOTP.validate({ ...now, secret: Secret.fromBase32(secret), token: code, window: WINDOW });
    return delta === null ? undefined : TOTP.counter(now) + delta;
  }

  async function setUpOf({ username: label }: Account, secret: string, sealed: string): Promise<SetUp> {
    const { TOTP } = await import('otpauth');
    return {
      secret,
      sealed,
      uri: new TOTP({ ...TOTP_OPTIONS, issuer: brand().name, label, secret }).toString(),
    };
  }

  return {
    async begin(account, context) {
      const { Secret } = await import('otpauth');
      const secret = new Secret({ size: SECRET_BYTES }).base32;
      const plain = JSON.stringify([secret, Date.now() + SET_UP_MS]);
      return setUpOf(account, secret, setUpSealer.seal(plain, setUpContext(account, context)));
    },
    async resume(account, sealed, context) {
      try {
        const plain = setUpSealer.open(sealed, setUpContext(account, context));
        const [secret, until] = JSON.parse(plain) as [string, number];
        if (until > Date.now()) return await setUpOf(account, secret, sealed);
      } catch {
        // Only the tag tells whether it is ours.
      }
      throw new ServiceError(
        'invalid',
        'The page was open for too long. Scan the new QR code.' satisfies Text,
      );
    },
    async add({ id: userId }, { secret }, code) {
      const lastStep = await stepOf(secret, code);
      if (lastStep === undefined) return undefined;
      const { written: codes, stored } = await createRecoveryCodes();
      const id = newId('app');
      const sealedSecret = sealer.seal(secret, contextOf(userId));
      const app = {
        userId,
        id,
        sealedSecret,
        lastStep,
        createdAt: new Date(),
        lastUsedAt: null,
        codesRenewedAt: null,
        ...stored,
      };
      if (await store.insert(app)) return { id, codes };
      throw new ServiceError(
        'conflict',
        'Your account already has an authenticator app. Remove it first.' satisfies Text,
      );
    },
    find: store.find,
    async verifyCode(app, code) {
      const step = await stepOf(sealer.open(app.sealedSecret, contextOf(app.userId)), code);
      return step !== undefined && store.useStep(app, step);
    },
    async verifyRecoveryCode(app, code) {
      const hash = await hashOfRecoveryCode(code, app.recoverySalt);
      return hash !== undefined && store.useRecoveryCode(app, hash);
    },
    async renewRecoveryCodes(userId) {
      const app = await store.find(userId);
      const { written, stored } = await createRecoveryCodes();
      if (app !== undefined && (await store.replaceRecoveryCodes(app, stored))) return written;
      throw new ServiceError('not_found', 'There is no authenticator app.');
    },
    remove: (userId, id) => store.remove({ userId, id }),
    restore: (userId, id, before) => store.restore({ userId, id }, before),
    removeSince: store.removeSince,
  };
}

/** Seals all secrets under the master key in use, so that the others are needed no longer; returns how many there are. */
export async function resealAuthenticatorApps(
  store: Pick<AuthenticatorAppStore, 'all' | 'reseal'>,
  masterKeys: KeyList,
): Promise<number> {
  const sealer = createSecretSealer(masterKeys);
  let count = 0;
  for await (const app of store.all()) {
    const context = contextOf(app.userId);
    if (await store.reseal(app, sealer.seal(sealer.open(app.sealedSecret, context), context))) count += 1;
  }
  return count;
}
