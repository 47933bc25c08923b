import { boolean, date, type EntityOf, id, number, oneOf, text, value } from '@gatehouse/domain/fields';

/** An initial access token (RFC 7591 §1.2): whoever has it registers clients, as applications of its owner. */
export const REGISTRATION_TOKEN = {
  id: id(),
  /** The id of the person. */
  owner: text(),
  /** The sum of the epochs of the owner's account that it rests on (see AUTHORITY). */
  ownerEpoch: number().default(0),
  /** Their role at the time, which the clients never exceed. */
  ownerRole: oneOf(['user', 'editor', 'admin']),
  name: text(),
  tokenHash: text(),
  /** Its last characters. */
  lastFour: text(),
  /** The most that a client may ask for. */
  scopes: value<readonly string[]>(),
  /** Whether machines can register, which then act as its owner. */
  machines: boolean(),
  /** How many clients can still register with it. */
  usesLeft: number(),
  createdAt: date(),
  expiresAt: date(),
};
export type RegistrationToken = EntityOf<typeof REGISTRATION_TOKEN>;

/** For each person. */
export const MAX_REGISTRATION_TOKENS = 20;

/** The store of registration tokens. Writes are durable when they resolve. */
export type RegistrationTokenStore = {
  collection: string;
  /** Inserts it unless its owner has MAX_REGISTRATION_TOKENS; returns whether it did. */
  insert(token: RegistrationToken): Promise<boolean>;
  /** A person's tokens that have neither expired nor ended, the latest first. */
  list(owner: string, leastEpoch: number): Promise<RegistrationToken[]>;
  /** Takes one of the uses that are left; of several concurrent calls for the last one, one gets it. */
  take(tokenHash: string): Promise<RegistrationToken | undefined>;
  /** Gives a use back that registered nothing. */
  giveBack(id: string): Promise<void>;
  /** Records another epoch for those of a person that have one of these ids. */
  setEpoch(owner: string, ids: readonly string[], ownerEpoch: number): Promise<void>;
  remove(id: string, owner: string): Promise<boolean>;
  removeAllOf(owner: string): Promise<void>;
};
