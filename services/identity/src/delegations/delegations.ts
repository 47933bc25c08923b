import { hash, randomBytes } from 'node:crypto';
import type { Caller } from '@gatehouse/tokens/caller';
import { apiAudience } from '@gatehouse/tokens/scopes';
import type { FindOwner } from '../applications/ownership.ts';
import { LOGIN_CLIENT } from '../logins/logins.ts';
import { isFirstParty } from '../oidc/client-metadata.ts';
import type { TokenSigner } from '../oidc/token-signer.ts';

/** What a caller has handed on to a service, which reads for them while they are away: never more than reading. */
export type Delegation = Pick<Caller, 'subject' | 'clientId' | 'person' | 'grantId' | 'keyId' | 'epoch'> & {
  /** The service that may read. */
  actor: string;
  scopes: readonly string[];
  expiresAt: Date;
};

/** What identity needs of a store of delegations. They are found by the hash of their handle. */
export type DelegationStore = {
  collection: string;
  insert(handleHash: string, delegation: Delegation): Promise<void>;
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
};

/** How long a service may read for somebody, in seconds. */
const DELEGATION_SECONDS = 86_400;
/** Of its tokens, in seconds; at most. */
const TOKEN_SECONDS = 300;

/** Reading on behalf of a caller, in the spirit of RFC 8693 §1.1: the tokens name the service as `act`. */
export function createDelegations(options: {
  issuer: string;
  store: DelegationStore;
  findAccount: FindOwner;
  findApplication: (id: string) => Promise<{ epoch: number } | undefined>;
  /** Whether the grant of a person to an application is still there. */
  grantExists: (id: string) => Promise<boolean>;
  loginExists: (id: string) => Promise<boolean>;
  /** Whether the API key of the application is still there. */
  keyExists: (clientId: string, id: string) => Promise<boolean>;
  signer: () => TokenSigner;
  /** That of other access tokens, in seconds: no token lives longer than its revocation is remembered. */
  tokenLifetime: number;
}): Delegations {
  const { issuer, store } = options;
  const lifetime = Math.min(TOKEN_SECONDS, options.tokenLifetime);

  async function isInForce({ clientId, person, grantId, keyId, epoch }: Delegation): Promise<boolean> {
    if (person !== undefined) {
      const account = await options.findAccount(person.id);
      if (account?.status !== 'active' || account.epoch !== epoch.subject) return false;
    }
    if (clientId === LOGIN_CLIENT) return grantId !== undefined && (await options.loginExists(grantId));
    // Our own clients are no applications that somebody could change or delete.
    const isOurs = isFirstParty(clientId);
    if (!isOurs && (await options.findApplication(clientId))?.epoch !== epoch.client) return false;
    if (keyId !== undefined && !(await options.keyExists(clientId, keyId))) return false;
    return grantId === undefined || (await options.grantExists(grantId));
  }

  return {
    async create({ subject, clientId, person, grantId, keyId, epoch, scopes }, actor) {
      const handle = randomBytes(32).toString('base64url');
      await store.insert(hashOf(handle), {
        ...{ actor, subject, clientId, person, grantId, keyId, epoch },
        scopes: [...scopes].filter((scope) => scope.startsWith('read:')),
        expiresAt: new Date(Date.now() + DELEGATION_SECONDS * 1000),
      });
      return handle;
    },

    async token(handle, actor) {
      const delegation = await store.find(hashOf(handle));
      if (delegation?.actor !== actor || !(await isInForce(delegation))) return undefined;
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

/** Those of the caller's own token, the API key that it ends with, and the service that uses it (RFC 8693 §4.1). */
function claimsOf({ actor, subject, person, grantId, keyId, epoch }: Delegation): Record<string, unknown> {
  const origin = { act: { sub: actor }, ...(keyId === undefined ? {} : { api_key: keyId }) };
  if (person === undefined) return { ...origin, trusted: true, epoch };
  const common = { ...origin, roles: [person.role], epoch };
  return person.id === subject ? { ...common, gid: grantId } : { ...common, owner: person.id };
}

/** A handle is random, so that a plain hash is enough to hide it. */
const hashOf = (handle: string) => hash('sha256', handle, 'base64url');
