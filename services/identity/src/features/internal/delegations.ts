import { hash, randomBytes } from 'node:crypto';
import { date, type EntityOf, group, number, oneOf, text, value } from '@gatehouse/domain/fields';
import { type Caller, refuseActors } from '@gatehouse/tokens/caller';
import { apiAudience, ROLES } from '@gatehouse/tokens/scopes';
import type { TokenSigner } from '../../core/tokens/token-signer.ts';
import type { Credential } from './credential-state.ts';

/** The access that a caller has delegated to a service, which reads for them while they are away: never more than reading. */
export const DELEGATION = {
  /** The service that may read. */
  actor: text(),
  subject: text(),
  clientId: text(),
  person: group({ id: text().stored('person_id'), role: oneOf(ROLES) }).optional(),
  givenBy: text().optional(),
  grantId: text().optional(),
  keyId: text().optional(),
  epoch: group({ client: number().stored('client_epoch'), subject: number().stored('subject_epoch') }),
  scopes: value<readonly string[]>(),
  expiresAt: date(),
};
export type Delegation = EntityOf<typeof DELEGATION>;

/** The store of delegations. They are found by the hash of their handle. */
export type DelegationStore = {
  collection: string;
  insert(handleHash: string, delegation: Delegation): Promise<void>;
  /** Removes all of a person. */
  removeAllOf(personId: string): Promise<void>;
  /** Finds none that has expired. */
  find(handleHash: string): Promise<Delegation | undefined>;
};

export type Delegations = {
  /** Returns the handle of a new delegation: a secret, by which the service gets its tokens. */
  create(caller: Caller, actor: string): Promise<string>;
  /**
   * A token to read as the caller could then, if they could still do so now: undefined when the handle is not this
   * service's, or what the caller's credential came from has been revoked, changed or deleted since.
   */
  token(handle: string, actor: string): Promise<{ value: string; lifetime: number } | undefined>;
  /** The delegation that this service has by the handle; undefined as for `token`. */
  find(handle: string, actor: string): Promise<Delegation | undefined>;
};

/** How long a service may read for somebody, in seconds. */
const DELEGATION_SECONDS = 86_400;
/** The maximum lifetime of its tokens, in seconds. */
const TOKEN_SECONDS = 300;

/** Reading on behalf of a caller, in the spirit of RFC 8693 §1.1: the tokens name the service as `act`. */
export function createDelegations(options: {
  issuer: string;
  store: Pick<DelegationStore, 'insert' | 'find'>;
  /** Whether what the caller's credential came from is as it was. */
  isInForce: (credential: Credential) => Promise<boolean>;
  signer: () => TokenSigner;
  /** The lifetime of other access tokens, in seconds: no token lives longer than its revocation is remembered. */
  tokenLifetime: number;
}): Delegations {
  const { issuer, store, isInForce } = options;
  const lifetime = Math.min(TOKEN_SECONDS, options.tokenLifetime);

  async function find(handle: string, actor: string): Promise<Delegation | undefined> {
    const delegation = await store.find(hashOf(handle));
    return delegation?.actor === actor && (await isInForce(delegation)) ? delegation : undefined;
  }

  return {
    find,

    async create(caller, actor) {
      refuseActors(caller);
      const { subject, clientId, person, givenBy, grantId, keyId, epoch, scopes } = caller;
      const handle = randomBytes(32).toString('base64url');
      await store.insert(hashOf(handle), {
        actor,
        subject,
        clientId,
        person,
        givenBy,
        grantId,
        keyId,
        epoch,
        scopes: [...scopes].filter((scope) => scope.startsWith('read:')),
        expiresAt: new Date(Date.now() + DELEGATION_SECONDS * 1000),
      });
      return handle;
    },

    async token(handle, actor) {
      const delegation = await find(handle, actor);
      if (delegation === undefined) return undefined;
      const { token: value } = await options.signer()({
        subject: delegation.subject,
        clientId: delegation.clientId,
        audience: apiAudience(issuer),
        scope: delegation.scopes.join(' '),
        lifetime,
        claims: claimsOf(delegation),
      });
      return { value, lifetime };
    },
  };
}

/** The claims of the caller's own token, the API key that it ends with, and the service that uses it (RFC 8693 §4.1). */
function claimsOf({
  actor,
  subject,
  person,
  givenBy,
  grantId,
  keyId,
  epoch,
}: Delegation): Record<string, unknown> {
  const origin = {
    gid: grantId,
    act: { sub: actor },
    given_by: givenBy,
    ...(keyId === undefined ? {} : { api_key: keyId }),
  };
  if (person === undefined) return { ...origin, trusted: true, epoch };
  const common = { ...origin, roles: [person.role], epoch };
  return person.id === subject ? common : { ...common, owner: person.id };
}

/** A handle is random, so that a plain hash is enough to hide it. */
const hashOf = (handle: string) => hash('sha256', handle, 'base64url');
