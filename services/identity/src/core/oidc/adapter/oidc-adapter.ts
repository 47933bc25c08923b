import { hash } from 'node:crypto';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { createBatches } from '@gatehouse/data/batches';
import { defineCollection, type IndexDefinition } from '@gatehouse/data/collection';
import { MAX_QUERY_MS } from '@gatehouse/data/database';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { insertNew } from '@gatehouse/data/insert-new';
import { decodeJwt } from 'jose';
import type { Connection } from 'mongoose';
import { type Adapter, type AdapterPayload, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { hasOfflineAccess } from '../claims/scope-rules.ts';
import { CONNECTED_IN } from '../epochs/store-fields.ts';
import { notePolling } from './device-polling.ts';
import type { Documents, OidcDocument } from './oidc-document.ts';
import { usedOnce } from './pushed-requests.ts';
import { findGrant, findWithGrant } from './read-with-grant.ts';
import { authorizationChanges, knowingAuthorizations, type ReadSession } from './session-authorizations.ts';
import { consumeOnce, isTokenRequest, rotated } from './single-use.ts';

type Spec = {
  collection: string;
  /** The field other than the id by which it is found. */
  key?: 'id_hash' | 'grant_id';
  /** Whether people find it by a code that they type. */
  userCode?: boolean;
  /** For how many seconds it is found as expired. */
  foundExpired?: number;
  /** Whether its id is a secret, which is stored only as a hash. */
  credential?: boolean;
  /** Whether it waits for a person to sign in to an application, whose client_id is stored. */
  pending?: boolean;
  /** Whether it belongs to an account, by which it is found and ended. Ended objects are never stored again. */
  ofAccount?: boolean;
};

/** The kinds of objects that oidc-provider stores. */
const KINDS = {
  Session: { collection: 'oidc_sessions', key: 'id_hash', credential: true, ofAccount: true },
  Interaction: { collection: 'oidc_interactions', pending: true },
  Grant: { collection: 'oidc_grants', ofAccount: true },
  AuthorizationCode: { collection: 'oidc_authorization_codes', key: 'grant_id', credential: true },
  RefreshToken: { collection: 'oidc_refresh_tokens', key: 'grant_id', credential: true },
  DeviceCode: {
    collection: 'oidc_device_codes',
    key: 'grant_id',
    credential: true,
    pending: true,
    userCode: true,
    foundExpired: 300,
  },
  PushedAuthorizationRequest: { collection: 'oidc_pushed_requests', credential: true, pending: true },
  ReplayDetection: { collection: 'oidc_replay_detections' },
} as const satisfies Record<string, Spec>;

type Kind = keyof typeof KINDS;

const INDEXES_OF_ACCOUNT: readonly IndexDefinition[] = [
  { fields: { account_id: 1, epoch: 1 }, options: { name: 'account_id_1_epoch_1' } },
  { fields: { account_id: 1, expires_at: -1 }, options: { name: 'account_id_1_expires_at_-1' } },
];

/** Begins the id of a device code that was found by its user code: only the hash of the id is stored. */
const BY_HASH = 'sha256:';

const ALL_ACCOUNTS: PlaceOfAccount = { inclusive: false, isReverse: false };

/** How long a tombstone is kept, in milliseconds: longer than any request that has read what has ended since. */
const TOMBSTONE_MS = 3600_000;
/** The most names that are noted with one command. */
const USES = 100;

/** Access tokens are JWTs, which are not stored; these models are used when one is revoked or introspected. */
const STATELESS = new Set(['AccessToken', 'ClientCredentials']);

/** A session or a grant, which belong to an account. */
export type OfAccount = {
  id: string;
  payload: AdapterPayload;
  expiresAt: Date | null;
  /** In a grant: the destination of its latest code or token. */
  redirectUri: string | undefined;
  /** The payload of the session that began it, in a grant that outlives the sign-out of that. */
  session: AdapterPayload | undefined;
};

/** The account that those of a page come after, or before where `isReverse`; with itself where `inclusive`. */
export type PlaceOfAccount = { accountId?: string | undefined; inclusive: boolean; isReverse: boolean };

export type OidcStore = {
  /** The adapter for one of oidc-provider's collections. */
  adapterFor(name: string): Adapter;
  /** The collections whose documents expire. */
  collections: readonly string[];
  /** Whether this is the first use of a name until then; of several concurrent calls, one gets true. */
  useOnce(name: string, until: Date): Promise<boolean>;
  /** Makes a document expire `seconds` from now. */
  extend(kind: 'RefreshToken' | 'Grant', id: string, seconds: number): Promise<void>;
  /** Notes that a device has asked for its tokens (RFC 8628 §3.5); returns whether it was too soon. */
  polled(deviceCode: string): Promise<boolean>;
  /** Notes where a code or token of the grant went. */
  received(grantId: string, redirectUri: string): Promise<void>;
  /** All sessions of the account, or those from before the epoch; the last used one first. */
  sessionsOf(accountId: string, belowEpoch?: number): AsyncIterable<OfAccount>;
  /** All grants of the account; the one that expires last first. */
  grantsOf(accountId: string): AsyncIterable<OfAccount>;
  /** The grants of a client, by the ids of their accounts, in one direction from a place among these. */
  grantsOfClient(clientId: string, from?: PlaceOfAccount): AsyncIterable<OfAccount & { accountId: string }>;
  /** How many accounts have a grant of a client. */
  countAccounts(clientId: string): Promise<number>;
  /** Ends the session with this uid, if it is the account's; returns it, to one of several concurrent calls. */
  endSession(uid: string, accountId?: string): Promise<AdapterPayload | undefined>;
  /** Ends a grant and all that was issued under it. */
  endGrant(id: string): Promise<void>;
  /** Ends the account's grants from before the epoch. */
  endGrantsBelow(accountId: string, epoch: number): Promise<void>;
  /** Ends the grants of the account that were made in the session with this uid, of all applications or of one. */
  endGrantsOfSession(accountId: string, uid: string, clientId?: string): Promise<void>;
  /**
   * Keeps the offline grants of an ended session, except those of one client. The removal of the passkey or provider with which the session
   * began still finds them.
   */
  keepOfflineGrants(session: AdapterPayload, exceptOf?: string): Promise<void>;
  /** Ends every grant of a client, and every pending authorization request. */
  endGrantsOfClient(clientId: string): Promise<void>;
};

/** A grant that is about to end. */
export type EndingGrant = { id: string; accountId: string; clientId: string; payload: AdapterPayload };

export type OidcStoreOptions = {
  findClient(id: string): Promise<AdapterPayload | undefined>;
  /** The payload of the JWT access token with this handle (see access-token-handles.ts). */
  findAccessToken(handle: string): AdapterPayload | undefined;
  /** Revokes one access token; durable when it resolves. */
  denyToken(jti: string): Promise<void>;
  /** Called and waited for before a grant ends. */
  grantListeners?: readonly ((grant: EndingGrant) => Promise<void>)[];
  /** Revokes every access token of a grant; durable when it resolves. */
  denyGrant(id: string): Promise<void>;
  /** For how many seconds a rotated refresh token gets its successor again, as in two tabs, without ending its family. */
  reuseGrace: number;
  /** Called before it gets that successor again. */
  onRepeatedRefresh(ctx: KoaContextWithOIDC): Promise<void>;
  /** For how many seconds a code that was exchanged is kept, to be recognised when it comes again. */
  keepExchangedCode: number;
};

/** oidc-provider's storage in MongoDB. Expiry is checked when reading, since documents are swept late. */
export function createOidcStore(connection: Connection, options: OidcStoreOptions): OidcStore {
  const collections = Object.fromEntries(
    (Object.keys(KINDS) as Kind[]).map((kind) => [
      kind,
      defineCollection<OidcDocument>(connection, KINDS[kind].collection, indexesOf(kind)),
    ]),
  ) as Record<Kind, Documents>;

  // Denied first, which covers what is issued meanwhile: after a crash in between, the grant can be ended again.
  async function endGrant(id: string): Promise<void> {
    await denyGrant(collections.Grant, id, options);
    await bury(collections.Grant, { _id: id });
    await Promise.all([
      collections.AuthorizationCode.deleteMany({ grant_id: id }),
      collections.RefreshToken.deleteMany({ grant_id: id }),
      collections.DeviceCode.deleteMany({ grant_id: id }),
    ]);
  }

  async function endGrants(
    filter:
      | { account_id: string; epoch: object }
      | { account_id: string; uid: string; client_id?: string }
      | { client_id: string },
  ) {
    for await (const { _id } of collections.Grant.find(filter, { projection: { _id: 1 } }))
      await endGrant(_id);
  }

  return {
    collections: Object.values(KINDS).map(({ collection }) => collection),
    adapterFor(name) {
      if (name === 'Client') return readOnly(options.findClient);
      if (STATELESS.has(name)) return statelessAdapter(name, options);
      const documents = collections[name as Kind];
      if (documents === undefined)
        throw new Error(`oidc-provider tried to store ${name}, which has no collection`);
      const adapter = documentAdapter(documents, name as Kind, collections.Grant);
      if (name === 'Session') {
        return {
          ...adapter,
          find: async (id) => knowingAuthorizations(await adapter.find(id)),
          findByUid: async (uid) => knowingAuthorizations(await adapter.findByUid(uid)),
          destroy: (id) => bury(documents, selectorOf(name, id)),
        };
      }
      if (name === 'Grant') return { ...adapter, destroy: endGrant };
      if (name === 'AuthorizationCode') {
        const { keepExchangedCode: keepSeconds } = options;
        return { ...adapter, consume: consumeOnce(documents, { keepSeconds, onReuse: endGrant }) };
      }
      if (name === 'RefreshToken') {
        const { reuseGrace: seconds, onRepeatedRefresh: onRepeated } = options;
        return rotated(adapter, documents, { seconds, onRepeated });
      }
      if (name === 'DeviceCode') {
        return {
          ...adapter,
          // A reader of the database knows the hashes.
          find: async (id) => (isTokenRequest() && id.startsWith(BY_HASH) ? undefined : adapter.find(id)),
          consume: consumeOnce(documents, { onReuse: endGrant }),
        };
      }
      if (name === 'PushedAuthorizationRequest') return usedOnce(adapter, documents);
      return adapter;
    },
    useOnce: firstUses(collections.ReplayDetection),
    async extend(kind, id, seconds) {
      const _id = keyOf(kind, id);
      await collections[kind].updateOne(
        { _id, ended: { $ne: true } },
        { $set: { expires_at: new Date(Date.now() + seconds * 1000) } },
      );
    },
    polled: (deviceCode) => notePolling(collections.DeviceCode, keyOf('DeviceCode', deviceCode)),
    async received(_id, redirect_uri) {
      await collections.Grant.updateOne({ _id, ended: { $ne: true } }, { $set: { redirect_uri } });
    },
    async endSession(uid, account_id) {
      const filter = { _id: uid, ...(account_id === undefined ? {} : { account_id }), ended: { $ne: true } };
      return payloadOf(await collections.Session.findOneAndUpdate(filter, tombstone()));
    },
    ...accountQueries(collections),
    endGrant,
    endGrantsBelow: (account_id, epoch) => endGrants({ account_id, epoch: { $lt: epoch } }),
    endGrantsOfSession: (account_id, uid, client_id) =>
      endGrants({ account_id, uid, ...(client_id === undefined ? {} : { client_id }) }),
    async endGrantsOfClient(client_id) {
      await Promise.all([
        collections.Interaction.deleteMany({ client_id }),
        collections.PushedAuthorizationRequest.deleteMany({ client_id }),
        collections.DeviceCode.deleteMany({ client_id }),
      ]);
      await endGrants({ client_id });
    },
  };
}

/** Announces the end of a grant, and revokes its access tokens. */
async function denyGrant(grants: Documents, id: string, options: OidcStoreOptions): Promise<void> {
  const document = await grants.findOne({ _id: id });
  const payload = payloadOf(document);
  const { account_id: accountId, client_id: clientId } = document ?? {};
  if (payload !== undefined && accountId !== undefined && clientId !== undefined)
    for (const listen of options.grantListeners ?? []) await listen({ id, accountId, clientId, payload });
  await options.denyGrant(id);
}

/** Finds sessions and grants by account, and keeps offline grants after a sign-out. */
function accountQueries(
  collections: Record<'Session' | 'Grant', Documents>,
): Pick<OidcStore, 'sessionsOf' | 'grantsOf' | 'grantsOfClient' | 'countAccounts' | 'keepOfflineGrants'> {
  async function* ofAccount(kind: 'Session' | 'Grant', filter: { account_id: string; epoch?: object }) {
    for await (const document of collections[kind].find(filter).sort({ expires_at: -1 })) {
      const payload = payloadOf(document);
      if (payload === undefined) continue;
      yield { ...ownFields(document, payload), payload };
    }
  }

  return {
    sessionsOf: (account_id, below) =>
      ofAccount('Session', { account_id, ...(below === undefined ? {} : { epoch: { $lt: below } }) }),
    grantsOf: (account_id) => ofAccount('Grant', { account_id }),
    async *grantsOfClient(client_id, { accountId, inclusive, isReverse } = ALL_ACCOUNTS) {
      const operator = `$${isReverse ? 'lt' : 'gt'}${inclusive ? 'e' : ''}`;
      const account_id = accountId === undefined ? { $gt: '' } : { [operator]: accountId };
      const found = collections.Grant.find({ client_id, account_id, ended: { $ne: true } });
      for await (const document of found.sort({ account_id: isReverse ? -1 : 1 })) {
        const payload = payloadOf(document);
        if (payload === undefined) continue;
        yield { ...ownFields(document, payload), payload, accountId: String(document.account_id) };
      }
    },
    async keepOfflineGrants({ authorizations: _, state: __, ...session }, exceptOf = '') {
      const ofSession = { account_id: session.accountId, uid: String(session.uid) };
      await collections.Grant.updateMany(
        { ...ofSession, offline: true, client_id: { $ne: exceptOf } },
        { $set: { session: JSON.stringify(session) }, $unset: { uid: 1 } },
      );
    },
    async countAccounts(client_id) {
      const [counted] = await collections.Grant.aggregate<{ accounts: number }>(
        [
          { $match: { client_id, account_id: { $gt: '' }, ended: { $ne: true } } },
          { $group: { _id: '$account_id' } },
          { $count: 'accounts' },
        ],
        { maxTimeMS: MAX_QUERY_MS },
      ).toArray();
      return counted?.accounts ?? 0;
    },
  };
}

function ownFields(document: OidcDocument, payload: AdapterPayload) {
  const { _id: id, expires_at: expiresAt, redirect_uri: redirectUri, session } = document;
  return {
    ...{ id, expiresAt, redirectUri },
    session: (session === undefined ? payload[CONNECTED_IN] : JSON.parse(session)) as
      | AdapterPayload
      | undefined,
  };
}

function indexesOf(kind: Kind): IndexDefinition[] {
  const { key, ofAccount = false, pending = false, userCode = false }: Spec = KINDS[kind];
  const isOfClient = kind === 'Grant' || pending;
  return [
    { fields: { expires_at: 1 }, options: { name: 'expires_at_1' } },
    ...(key === undefined ? [] : [{ fields: { [key]: 1 }, options: { name: `${key}_1` } } as const]),
    ...(ofAccount ? INDEXES_OF_ACCOUNT : []),
    ...(userCode
      ? [{ fields: { user_code: 1 }, options: { name: 'user_code_1', unique: true, sparse: true } } as const]
      : []),
    ...(isOfClient ? [{ fields: { client_id: 1 }, options: { name: 'client_id_1' } } as const] : []),
    ...(kind === 'Grant'
      ? [{ fields: { client_id: 1, account_id: 1 }, options: { name: 'client_id_1_account_id_1' } } as const]
      : []),
  ];
}

/** Nobody who reads the database may find usable codes and tokens: only their hashes are stored. */
function keyOf(kind: Kind, id: string): string {
  const { credential = false, userCode = false }: Spec = KINDS[kind];
  if (userCode && id.startsWith(BY_HASH)) return id.slice(BY_HASH.length);
  return credential ? hash('sha256', id, 'base64url') : id;
}

/** The document with this id of oidc-provider's. */
function selectorOf(kind: Kind, id: string): { id_hash: string } | { _id: string } {
  return kind === 'Session' ? { id_hash: keyOf(kind, id) } : { _id: keyOf(kind, id) };
}

/** The fields of a session or grant that has ended: it belongs to nobody. */
function tombstone() {
  return {
    $set: { ended: true, payload: '{}', expires_at: new Date(Date.now() + TOMBSTONE_MS) },
    $unset: {
      ...({ authorizations: 1, id_hash: 1, uid: 1, account_id: 1, client_id: 1 } as const),
      ...({ redirect_uri: 1, epoch: 1, session: 1 } as const),
    },
  } as const;
}

async function bury(documents: Documents, filter: object): Promise<void> {
  await documents.updateOne({ ...filter, ended: { $ne: true } }, tombstone());
}

/** The payload that oidc-provider gets back. `id` is given for credentials, whose ids are not stored. */
function payloadOf(document: OidcDocument | null, id?: string, foundExpired = 0): AdapterPayload | undefined {
  if (document === null || document.ended === true) return undefined;
  const { expires_at, consumed_at = null, payload: text, authorizations = {} } = document;
  if (expires_at !== null && expires_at.getTime() <= Date.now()) return undefined;
  const payload = JSON.parse(text) as AdapterPayload;
  const stored = Object.entries(authorizations).map(([field, it]) => [
    decodeURIComponent(field),
    JSON.parse(it),
  ]);
  return {
    ...payload,
    ...(stored.length === 0
      ? {}
      : { authorizations: { ...(payload.authorizations as object), ...Object.fromEntries(stored) } }),
    // extend() may have changed it.
    ...(expires_at === null ? {} : { exp: Math.floor(expires_at.getTime() / 1000) - foundExpired }),
    ...(id === undefined ? {} : { jti: id }),
    ...(consumed_at === null ? {} : { consumed: Math.floor(consumed_at.getTime() / 1000) }),
  };
}

function documentAdapter(documents: Documents, kind: Kind, grants: Documents): Adapter {
  const { credential = false, ofAccount = false, pending = false, foundExpired = 0 }: Spec = KINDS[kind];
  const read = (id: string) => {
    if (kind === 'Grant') return findGrant(documents, id);
    if (kind === 'AuthorizationCode' || kind === 'RefreshToken')
      return findWithGrant(documents, grants, keyOf(kind, id));
    return documents.findOne(selectorOf(kind, id));
  };
  return {
    async upsert(id, payload, expiresIn) {
      const { jti, knownAuthorizations: _, ...rest } = withoutCookie(payload);
      const { set, unset } = authorizationChanges(kind === 'Session' ? (payload as ReadSession) : {});
      const { accountId, clientId, epoch, sessionUid } = payload as {
        accountId?: string;
        clientId?: string;
        epoch?: number;
        sessionUid?: string;
      };
      // If it has ended, the filter does not match its tombstone, so that the upsert inserts, and fails with a duplicate id.
      const filter = kind === 'Session' ? { _id: String(payload.uid) } : { _id: keyOf(kind, id) };
      const stored = documents.updateOne(
        ofAccount ? { ...filter, ended: { $ne: true } } : filter,
        {
          $set: omitUndefined({
            ...(kind === 'Session' ? { id_hash: keyOf(kind, id), ...set } : {}),
            payload: JSON.stringify(credential ? rest : { jti, ...rest }),
            grant_id: payload.grantId,
            uid: payload.uid ?? sessionUid,
            ...(ofAccount ? { account_id: accountId, client_id: clientId, epoch: epoch ?? 0 } : {}),
            offline: hasOfflineAccess((payload.openid as { scope?: string } | undefined)?.scope) || undefined,
            ...(pending ? { client_id: requestingClient(payload) } : {}),
            user_code: payload.userCode,
            expires_at:
              expiresIn === undefined ? null : new Date(Date.now() + (expiresIn + foundExpired) * 1000),
          }),
          ...(Object.keys(unset).length === 0 ? {} : { $unset: unset }),
        },
        { upsert: true },
      );
      await stored.catch((error: unknown) => {
        if (ofAccount && duplicateKeyField(error) === '_id') throw new errors.SessionNotFound('it has ended');
        throw error;
      });
    },
    async find(id) {
      return payloadOf(await read(id), credential ? id : undefined, foundExpired);
    },
    async findByUid(uid) {
      return payloadOf(await documents.findOne({ _id: uid }));
    },
    async findByUserCode(user_code) {
      const document = await documents.findOne({ user_code });
      return payloadOf(document, `${BY_HASH}${document?._id}`, foundExpired);
    },
    async consume(id) {
      await documents.updateOne({ _id: keyOf(kind, id) }, { $set: { consumed_at: new Date() } });
    },
    async destroy(id) {
      await documents.deleteOne({ _id: keyOf(kind, id) });
    },
    async revokeByGrantId(grantId) {
      await documents.deleteMany({ grant_id: grantId });
    },
  };
}

/** The client of a pending authorization request; a pushed one is kept as a JWT that names it as its issuer. */
function requestingClient({ params, request }: AdapterPayload): string | undefined {
  return request === undefined ? (params?.client_id as string | undefined) : decodeJwt(request as string).iss;
}

/** An interaction contains the id of the session, which is a credential and never read from here. */
function withoutCookie(payload: AdapterPayload): AdapterPayload {
  if (payload.session === undefined) return payload;
  const { cookie: _, ...session } = payload.session as { cookie?: string };
  return { ...payload, session } as AdapterPayload;
}

async function refuse(): Promise<never> {
  throw new Error('oidc-provider tried to write what it may only read');
}

const none = async () => undefined;

/** Clients are read only: they are managed as applications. */
function readOnly(find: Adapter['find']): Adapter {
  return {
    find,
    upsert: refuse,
    destroy: refuse,
    consume: refuse,
    findByUid: none,
    findByUserCode: none,
    revokeByGrantId: none,
  };
}

/** JWT access tokens are not stored; destroying one revokes it. */
function statelessAdapter(name: string, options: OidcStoreOptions): Adapter {
  return {
    ...readOnly(async (handle) => (name === 'AccessToken' ? options.findAccessToken(handle) : undefined)),
    destroy: options.denyToken,
  };
}

/** Notes names that are used once. Those of the same time are stored together, which takes a fraction of the processor time. */
function firstUses(documents: Documents): OidcStore['useOnce'] {
  const insert = createBatches({
    max: USES,
    run: (uses: readonly OidcDocument[]) => insertNew(documents, uses),
  });
  return async (name, until) => {
    const _id = hash('sha256', name, 'base64url');
    if (await insert({ _id, payload: '{}', expires_at: until })) return true;
    // One that has expired may still be there.
    const expired = { _id, expires_at: { $lte: new Date() } };
    return (await documents.updateOne(expired, { $set: { expires_at: until } })).modifiedCount === 1;
  };
}
