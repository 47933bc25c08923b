import { bodyValidator, invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import { hasInvisibleCharacters } from '@gatehouse/domain/invisible-characters';
import { brand } from '@gatehouse/web/brand';
import type { VerifyRegistrationResponseOpts } from '@simplewebauthn/server';
import { type Static, Type } from 'typebox';
import type { Account, Accounts } from '../../core/accounts/account.ts';
import type { SignInGenerations } from '../../core/sessions/sign-in-generations.ts';
import type { Text as PageText } from '../../texts/texts.ts';
import type { Challenges } from './challenges.ts';
import { MAX_NAME, MAX_PASSKEYS, type Passkey, type PasskeyStore } from './passkey.ts';

/** Passkeys of accounts: discoverable credentials (WebAuthn Level 3) that verify their user. */
export type Passkeys = {
  /**
   * PublicKeyCredentialCreationOptionsJSON (WebAuthn Level 3 §5.1.8), also for an account that is being created. `context` is the
   * page, which the response has to name. With `isConditional`, the browser creates it without asking, so that nobody need be present
   * or verified (§7.1); whoever signs in with it is.
   */
  creationOptions(
    account: Pick<Account, 'id' | 'username' | 'name'>,
    context: string,
    how?: { isConditional?: boolean },
  ): Promise<object>;
  /**
   * Adds what the browser made of creationOptions(). Throws `invalid` when it is not valid, or the account has MAX_PASSKEYS,
   * and `conflict` when it has been added before.
   */
  add(
    account: Pick<Account, 'id'>,
    sent: { name: string; response: string },
    context: string,
    how?: { isConditional?: boolean },
  ): Promise<Passkey>;
  /** PublicKeyCredentialRequestOptionsJSON (§5.1.10): for any account, so that nobody learns which ones there are. */
  requestOptions(context: string): object;
  /**
   * The account to which the browser's response to requestOptions() belongs, and the generation of its sign-ins before that
   * was checked. A failure names the account if the passkey is known.
   */
  authenticate(response: string, context: string): Promise<Authentication | FailedAuthentication>;
  /** Those of an account, the oldest first. */
  list(userId: string): Promise<Passkey[]>;
  /** Throws `not_found` and `invalid`. */
  rename(userId: string, id: string, name: string): Promise<void>;
  /** Returns whether there was one. */
  remove(userId: string, id: string): Promise<boolean>;
  /** Puts one back that was removed lately, if it was added before the time. */
  restore(userId: string, id: string, before: Date): Promise<boolean>;
  /** Those that were added since, by default all; returns how many there were. */
  removeAll(userId: string, since?: Date): Promise<number>;
};

export type Authentication = { account: Account; passkey: Passkey; generation: string | undefined };
export type FailedAuthentication = { account?: undefined; userId: string | undefined };

const Text = Type.String();
/** §7.1: at most 1023 bytes, here in base64url. */
const CredentialId = Type.String({ maxLength: 1364 });
const common = { id: CredentialId, rawId: CredentialId, type: Type.Literal('public-key') };
const Created = Type.Object({
  ...common,
  response: Type.Object({
    clientDataJSON: Text,
    attestationObject: Text,
    transports: Type.Optional(Type.Array(Type.String({ maxLength: 32 }), { maxItems: 10 })),
  }),
});
const Used = Type.Object({
  ...common,
  response: Type.Object({
    clientDataJSON: Text,
    authenticatorData: Text,
    signature: Text,
    userHandle: Text,
  }),
});
const readCreated = bodyValidator(Created);
const readUsed = bodyValidator(Used);

/** ES256, RS256 and EdDSA (RFC 9053), the preferred one first; Windows Hello has RS256 only. */
const ALGORITHMS = [-7, -257, -8];
/** A passkey that a browser creates without asking. */
const UNATTENDED = { requireUserPresence: false, requireUserVerification: false };
/** How long a browser waits for the person, in milliseconds. */
const TIMEOUT_MS = 300_000;
/** §14.6.1: the id of a user, without personal data. */
const userHandleOf = (userId: string) => Buffer.from(userId).toString('base64url');

/**
 * @param options.rpId the host name of our pages
 * @param options.origin their origin
 */
export function createPasskeys(options: {
  rpId: string;
  origin: string;
  store: PasskeyStore;
  challenges: Challenges;
  accounts: Pick<Accounts, 'find'>;
  generations: Pick<SignInGenerations, 'current'>;
}): Passkeys {
  const { rpId, origin, store, challenges, accounts, generations } = options;
  const expected = { expectedOrigin: origin, expectedRPID: rpId, requireUserVerification: true };

  return {
    async creationOptions({ id, username, name }, context, { isConditional = false } = {}) {
      const known = await store.list(id);
      return creationOptionsOf({
        rpId,
        user: { id, username, name },
        challenge: challenges.issue(context),
        known,
        userVerification: isConditional ? 'preferred' : 'required',
      });
    },

    async add({ id: userId }, { name, response: text }, context, { isConditional = false } = {}) {
      const chosen = nameOf(name);
      const response = validated(readCreated, text);
      if (response === undefined)
        throw new ServiceError('invalid', 'The browser sent no passkey.' satisfies PageText);
      const challenge = await useChallenge(challenges, response.response.clientDataJSON, context);
      const how = { ...expected, ...(isConditional && UNATTENDED) };
      const verified = await verifyCreated(response, challenge, how);
      if (
        verified?.registrationInfo === undefined ||
        verified.registrationInfo.credential.id !== response.id
      ) {
        throw new ServiceError('invalid', 'The passkey could not be verified. Try again.' satisfies PageText);
      }
      const { credential, credentialDeviceType, credentialBackedUp } = verified.registrationInfo;
      const passkey: Passkey = {
        id: newId('pky'),
        userId,
        name: chosen,
        credentialId: credential.id,
        publicKey: Buffer.from(credential.publicKey).toString('base64url'),
        counter: credential.counter,
        transports: response.response.transports ?? [],
        isSyncable: credentialDeviceType === 'multiDevice',
        isSynced: credentialBackedUp,
        createdAt: new Date(),
        lastUsedAt: null,
      };
      if (await store.insert(passkey)) return passkey;
      throw new ServiceError(
        'invalid',
        `An account can have ${MAX_PASSKEYS} passkeys. Remove one that you no longer use first.` as const satisfies PageText,
      );
    },

    requestOptions: (context) => ({
      rpId,
      challenge: challenges.issue(context),
      timeout: TIMEOUT_MS,
      userVerification: 'required',
      allowCredentials: [],
    }),

    async authenticate(text, context) {
      const response = validated(readUsed, text);
      const passkey = response && (await store.findByCredential(response.id));
      const failed = { userId: passkey?.userId };
      if (response === undefined || passkey === undefined) return failed;
      const { userId, credentialId: id, counter } = passkey;
      // Before the signature is checked: what ends all sessions from here on ends this sign-in, too.
      const generation = await generations.current(userId);
      const challenge = await useChallenge(challenges, response.response.clientDataJSON, context);
      if (challenge === undefined || response.response.userHandle !== userHandleOf(userId)) return failed;
      const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
      // It throws for every response that is not valid, such as one of a counter that did not grow (§6.1.1).
      const verified = await verifyAuthenticationResponse({
        ...expected,
        response: { ...response, clientExtensionResults: {} },
        expectedChallenge: challenge,
        credential: { id, counter, publicKey: new Uint8Array(Buffer.from(passkey.publicKey, 'base64url')) },
      }).catch(() => undefined);
      if (!verified?.verified) return failed;
      const account = await accounts.find(userId);
      if (account === undefined || account.status !== 'active') return failed;
      const { newCounter, credentialDeviceType, credentialBackedUp: isSynced } = verified.authenticationInfo;
      // §7.2: it says what it was when it was made.
      if ((credentialDeviceType === 'multiDevice') !== passkey.isSyncable) return failed;
      // Last: a passkey that was removed meanwhile fails here. One that is removed later ends this sign-in with its others.
      const isUsed = await store.used(passkey.id, { counter: newCounter, isSynced, at: new Date() });
      return isUsed ? { account, passkey: { ...passkey, isSynced }, generation } : failed;
    },

    list: store.list,

    async rename(userId, id, name) {
      if (!(await store.rename(userId, id, nameOf(name)))) {
        throw new ServiceError('not_found', 'There is no such passkey.');
      }
    },

    remove: store.remove,
    restore: store.restore,
    removeAll: store.removeAll,
  };
}

/**
 * The data of an account that password managers get after a change (WebAuthn Level 3, signal methods): its names and, where they are given, its
 * passkeys, so that all others are forgotten.
 */
export function signalsOf(
  rpId: string,
  { id, username, name }: Pick<Account, 'id' | 'username' | 'name'>,
  passkeys?: readonly Passkey[],
): object {
  const accepted = passkeys?.map(({ credentialId }) => credentialId);
  return { rpId, userId: userHandleOf(id), name: username, displayName: name, accepted };
}

/** Verifies a new passkey (WebAuthn §7.1); undefined if it is not valid. */
async function verifyCreated(
  response: Static<typeof Created>,
  challenge: string | undefined,
  expected: Omit<VerifyRegistrationResponseOpts, 'response' | 'expectedChallenge'>,
) {
  if (challenge === undefined) return undefined;
  if (!(await isWithoutAttestation(response.response.attestationObject))) return undefined;
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
  return verifyRegistrationResponse({
    ...expected,
    expectedChallenge: challenge,
    // It reads no others.
    response: { ...response, clientExtensionResults: {} } as never,
    supportedAlgorithmIDs: ALGORITHMS,
  }).catch(() => undefined);
}

/** WebAuthn §5.4. */
function creationOptionsOf(it: {
  rpId: string;
  user: { id: string; username: string; name: string };
  challenge: string;
  known: readonly Passkey[];
  userVerification: 'required' | 'preferred';
}) {
  const { rpId, user, challenge, known, userVerification } = it;
  return {
    rp: { id: rpId, name: brand().name },
    user: { id: userHandleOf(user.id), name: user.username, displayName: user.name },
    challenge,
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
    timeout: TIMEOUT_MS,
    excludeCredentials: known.map(({ credentialId, transports }) => ({
      type: 'public-key',
      id: credentialId,
      transports,
    })),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification,
    },
    attestation: 'none',
  };
}

/**
 * The challenge that was signed, if it was ours and is used for the first time. Our pages are in no frame, so nothing that was made
 * in one of another site is taken (§7.1 and §7.2, the steps about crossOrigin and topOrigin).
 */
async function useChallenge(
  challenges: Challenges,
  clientData: string,
  context: string,
): Promise<string | undefined> {
  const text = Buffer.from(clientData, 'base64url').toString('utf8');
  const { challenge, crossOrigin = false, topOrigin } = Object(parsed(text)) as Record<string, unknown>;
  if (typeof challenge !== 'string' || crossOrigin !== false || topOrigin !== undefined) return undefined;
  return (await challenges.use(challenge, context)) ? challenge : undefined;
}

function nameOf(text: string): string {
  const name = text.trim();
  if (name === '') throw invalidFields([{ field: 'name', message: 'Enter a name.' satisfies PageText }]);
  const message =
    [...name].length > MAX_NAME
      ? (`Enter a name of at most ${MAX_NAME} characters.` as const satisfies PageText)
      : hasInvisibleCharacters(name) &&
        ('The name must not contain invisible characters.' satisfies PageText);
  if (message === false) return name;
  throw invalidFields([{ field: 'name', message }]);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function validated<T>(read: (body: unknown) => T, text: string): T | undefined {
  try {
    return read(parsed(text));
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'invalid') return undefined;
    throw error;
  }
}

/**
 * Whether it is what a browser makes of `attestation: 'none'` (§5.4.7). The library verifies other kinds too, and for that fetches lists of
 * revoked certificates from wherever the sender's certificate says.
 */
async function isWithoutAttestation(attestationObject: string): Promise<boolean> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  try {
    const decoded = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')));
    const fmt = decoded.get('fmt');
    return fmt === 'none' || (fmt === 'packed' && decoded.get('attStmt').get('x5c') === undefined);
  } catch {
    return false;
  }
}
