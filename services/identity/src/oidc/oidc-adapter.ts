import { hash } from 'node:crypto';
import { duplicateKeyField } from '@gatehouse/mongo/duplicate-key';
import { onceInDatabase } from '@gatehouse/mongo/once';
import { type Connection, type Model, Schema } from 'mongoose';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import { invalidRequestUri, keptForInteractions } from './pushed-requests.ts';

/** A document of oidc-provider's, such as a code, a refresh token, a grant or a session. */
type OidcDocument = {
  _id: string;
  /** The payload as JSON: its keys include URLs and client ids, which are no field names. */
  payload: string;
  /** The hash of a session's id, which changes; its _id is the uid, which does not. */
  id_hash?: string | undefined;
  grant_id?: string | undefined;
  uid?: string | undefined;
  account_id?: string | undefined;
  client_id?: string | undefined;
  /** The account's sign_in_epoch when this was created; it has ended once the account's is higher. */
  epoch?: number | undefined;
  /** Set on a session or grant that has ended: a tombstone, which keeps requests in flight from storing it again. */
  ended?: boolean;
  consumed_at: Date | null;
  expires_at: Date | null;
};

type Spec = {
  collection: string;
  /** The field other than the id by which it is found. */
  key?: 'id_hash' | 'grant_id';
  /** Whether its id is a secret, which is stored only as a hash. */
  credential?: boolean;
  /** Whether it belongs to an account, by which it is found and ended. What has ended is never stored again. */
  ofAccount?: boolean;
};

/** What oidc-provider stores. */
const KINDS = {
  Session: { collection: 'oidc_sessions', key: 'id_hash', credential: true, ofAccount: true },
  Interaction: { collection: 'oidc_interactions' },
  Grant: { collection: 'oidc_grants', ofAccount: true },
  AuthorizationCode: { collection: 'oidc_authorization_codes', key: 'grant_id', credential: true },
  RefreshToken: { collection: 'oidc_refresh_tokens', key: 'grant_id', credential: true },
  PushedAuthorizationRequest: { collection: 'oidc_pushed_requests', credential: true },
  ReplayDetection: { collection: 'oidc_replay_detections' },
} as const satisfies Record<string, Spec>;

type Kind = keyof typeof KINDS;

/** How long a tombstone is kept, in milliseconds: longer than any request that has read what has ended since. */
const TOMBSTONE_MS = 3600_000;

/** Access tokens are JWTs, which are not stored; these models are used when one is revoked or introspected. */
const STATELESS = new Set(['AccessToken', 'ClientCredentials']);

/** A session or a grant, which belong to an account. */
export type OfAccount = { id: string; payload: AdapterPayload; expiresAt: Date | null };

export type OidcStore = {
  /** The adapter for one of oidc-provider's models. */
  adapterFor(name: string): Adapter;
  /** The collections whose documents expire. */
  collections: readonly string[];
  /** Whether this is the first use of a name until then; of several concurrent calls, one gets true. */
  useOnce(name: string, until: Date): Promise<boolean>;
  /** Migrates what earlier versions stored, once connected. */
  prepare(): Promise<void>;
  /** Makes a document expire `seconds` from now. */
  extend(kind: 'RefreshToken' | 'Grant', id: string, seconds: number): Promise<void>;
  /** All sessions of the account, or the one with this uid; the last used one first. */
  sessionsOf(accountId: string, uid?: string): AsyncIterable<OfAccount>;
  /** All grants of the account; the one that expires last first. */
  grantsOf(accountId: string): AsyncIterable<OfAccount>;
  /** Ends the session with this uid if it is the account's; returns whether there was one. */
  endSession(accountId: string, uid: string): Promise<boolean>;
  /** Ends a grant and all that was issued under it. */
  endGrant(id: string): Promise<void>;
  /** Ends the account's sessions and grants from before the epoch. */
  endSignIns(accountId: string, belowEpoch: number): Promise<void>;
  /** Ends every grant of a client. */
  endGrantsOfClient(clientId: string): Promise<void>;
};

export type OidcStoreOptions = {
  findClient(id: string): Promise<AdapterPayload | undefined>;
  /** The payload of the JWT access token with this handle (see access-token-handles.ts). */
  findAccessToken(handle: string): AdapterPayload | undefined;
  /** Revokes one access token; durable when it resolves. */
  denyToken(jti: string): Promise<void>;
  /** Revokes every access token of a grant; durable when it resolves. */
  denyGrant(id: string): Promise<void>;
  /** For how many seconds a rotated refresh token may be used again, as by two tabs, without ending its family. */
  reuseGrace: number;
  /** For how many seconds a code that was exchanged is kept, to be recognised when it comes again. */
  keepExchangedCode: number;
};

/** oidc-provider's storage in MongoDB. Expiry is checked when reading, since documents are swept late. */
export function createOidcStore(connection: Connection, options: OidcStoreOptions): OidcStore {
  const models = Object.fromEntries(
    (Object.keys(KINDS) as Kind[]).map((kind) => [kind, defineModel(connection, kind)]),
  ) as Record<Kind, Model<OidcDocument>>;

  // Denied first, which covers what is issued meanwhile: after a crash in between, the grant can be ended again.
  async function endGrant(id: string): Promise<void> {
    await options.denyGrant(id);
    await bury(models.Grant, { _id: id });
    await Promise.all([
      models.AuthorizationCode.deleteMany({ grant_id: id }),
      models.RefreshToken.deleteMany({ grant_id: id }),
    ]);
  }

  async function endGrants(filter: { account_id: string; epoch: object } | { client_id: string }) {
    for await (const { _id } of models.Grant.find(filter, { _id: 1 }).lean().cursor()) await endGrant(_id);
  }

  async function* ofAccount(kind: 'Session' | 'Grant', filter: { account_id: string; _id?: string }) {
    for await (const document of models[kind].find(filter).sort({ expires_at: -1 }).lean().cursor()) {
      const payload = payloadOf(document);
      if (payload !== undefined) yield { id: document._id, payload, expiresAt: document.expires_at };
    }
  }

  const endSessions = (filter: object) => bury(models.Session, filter);

  return {
    async prepare() {
      await onceInDatabase(connection, 'sessions by uid', () => storeByUid(models.Session));
    },
    collections: Object.values(KINDS).map(({ collection }) => collection),
    adapterFor(name) {
      if (name === 'Client') return readOnly(options.findClient);
      if (STATELESS.has(name)) return statelessAdapter(name, options);
      const model = models[name as Kind];
      if (model === undefined)
        throw new Error(`oidc-provider tried to store ${name}, which has no collection`);
      const adapter = documentAdapter(model, name as Kind);
      if (name === 'Session')
        return { ...adapter, destroy: (id) => endSessions(selectorOf(name, id)).then(() => {}) };
      if (name === 'Grant') return { ...adapter, destroy: endGrant };
      if (name === 'AuthorizationCode') {
        const { keepExchangedCode: keepSeconds } = options;
        return { ...adapter, consume: once(model, alreadyUsed, { keepSeconds, onReuse: endGrant }) };
      }
      if (name === 'RefreshToken') {
        return graceful({ ...adapter, consume: once(model, alreadyUsed) }, options.reuseGrace);
      }
      if (name === 'PushedAuthorizationRequest') {
        return keptForInteractions({ ...adapter, consume: once(model, invalidRequestUri) });
      }
      return adapter;
    },
    async useOnce(name, until) {
      try {
        await models.ReplayDetection.updateOne(
          // Whoever does not find it expired tries to insert it, which only one can.
          { _id: hash('sha256', name, 'base64url'), expires_at: { $lte: new Date() } },
          { $set: { payload: '{}', expires_at: until } },
          { upsert: true },
        );
        return true;
      } catch (error) {
        if (duplicateKeyField(error) === '_id') return false;
        throw error;
      }
    },
    async extend(kind, id, seconds) {
      const _id = keyOf(kind, id);
      await models[kind].updateOne(
        { _id, ended: { $ne: true } },
        { $set: { expires_at: new Date(Date.now() + seconds * 1000) } },
      );
    },
    sessionsOf: (account_id, uid) =>
      ofAccount('Session', { account_id, ...(uid === undefined ? {} : { _id: uid }) }),
    grantsOf: (account_id) => ofAccount('Grant', { account_id }),
    async endSession(accountId, uid) {
      return (await endSessions({ _id: uid, account_id: accountId })) > 0;
    },
    endGrant,
    async endSignIns(accountId, belowEpoch) {
      const epoch = { $lt: belowEpoch };
      await endSessions({ account_id: accountId, epoch });
      await endGrants({ account_id: accountId, epoch });
    },
    endGrantsOfClient: (clientId) => endGrants({ client_id: clientId }),
  };
}

function defineModel(connection: Connection, kind: Kind): Model<OidcDocument> {
  const schema = new Schema<OidcDocument>(
    {
      _id: { type: String, required: true },
      payload: { type: String, required: true },
      grant_id: { type: String },
      id_hash: { type: String },
      uid: { type: String },
      account_id: { type: String },
      client_id: { type: String },
      epoch: { type: Number },
      ended: { type: Boolean },
      consumed_at: { type: Date, default: null },
      expires_at: { type: Date, default: null },
    },
    { versionKey: false, strict: 'throw' },
  );
  schema.index({ expires_at: 1 });
  const spec: Spec = KINDS[kind];
  if (spec.key === 'id_hash') schema.index({ id_hash: 1 });
  if (spec.key === 'grant_id') schema.index({ grant_id: 1 });
  if (spec.ofAccount === true) {
    schema.index({ account_id: 1, epoch: 1 });
    schema.index({ account_id: 1, expires_at: -1 });
  }
  if (kind === 'Grant') schema.index({ client_id: 1 });
  return connection.model<OidcDocument>(`Oidc${kind}`, schema, spec.collection);
}

/** Nobody who reads the database may find usable codes and tokens: only their hashes are stored. */
function keyOf(kind: Kind, id: string): string {
  const { credential = false }: Spec = KINDS[kind];
  return credential ? hash('sha256', id, 'base64url') : id;
}

/** The document with this id of oidc-provider's. */
function selectorOf(kind: Kind, id: string): { id_hash: string } | { _id: string } {
  return kind === 'Session' ? { id_hash: keyOf(kind, id) } : { _id: keyOf(kind, id) };
}

/** Ends sessions or grants: leaves tombstones, which belong to nobody. Returns how many. */
async function bury(model: Model<OidcDocument>, filter: object): Promise<number> {
  const { modifiedCount } = await model.updateMany(
    { ...filter, ended: { $ne: true } },
    {
      $set: { ended: true, payload: '{}', expires_at: new Date(Date.now() + TOMBSTONE_MS) },
      $unset: { id_hash: 1, uid: 1, account_id: 1, client_id: 1, epoch: 1 },
    },
  );
  return modifiedCount;
}

/** Sessions were stored by the hash of their id. */
async function storeByUid(sessions: Model<OidcDocument>): Promise<void> {
  const earlier = { id_hash: { $exists: false }, ended: { $ne: true } };
  await sessions.aggregate([
    { $match: { ...earlier, uid: { $exists: true } } },
    { $set: { id_hash: '$_id', _id: '$uid' } },
    { $merge: { into: sessions.collection.collectionName, whenMatched: 'keepExisting' } },
  ]);
  await sessions.deleteMany(earlier);
}

/** What oidc-provider gets back. `id` is given for credentials, whose ids are not stored. */
function payloadOf(document: OidcDocument | null, id?: string): AdapterPayload | undefined {
  if (document === null || document.ended === true) return undefined;
  const { expires_at, consumed_at, payload } = document;
  if (expires_at !== null && expires_at.getTime() <= Date.now()) return undefined;
  return {
    ...(JSON.parse(payload) as AdapterPayload),
    // extend() may have changed it.
    ...(expires_at === null ? {} : { exp: Math.floor(expires_at.getTime() / 1000) }),
    ...(id === undefined ? {} : { jti: id }),
    ...(consumed_at === null ? {} : { consumed: Math.floor(consumed_at.getTime() / 1000) }),
  };
}

function documentAdapter(model: Model<OidcDocument>, kind: Kind): Adapter {
  const { credential = false, ofAccount = false }: Spec = KINDS[kind];
  return {
    async upsert(id, payload, expiresIn) {
      const { jti, ...rest } = withoutCookie(payload);
      const { accountId, clientId, epoch } = payload as {
        accountId?: string;
        clientId?: string;
        epoch?: number;
      };
      // One write: a tombstone does not match, and the insert that follows is refused as its id is taken.
      const filter = kind === 'Session' ? { _id: String(payload.uid) } : { _id: keyOf(kind, id) };
      const stored = model.updateOne(
        ofAccount ? { ...filter, ended: { $ne: true } } : filter,
        {
          $set: {
            ...(kind === 'Session' ? { id_hash: keyOf(kind, id) } : {}),
            payload: JSON.stringify(credential ? rest : { jti, ...rest }),
            grant_id: payload.grantId,
            uid: payload.uid,
            ...(ofAccount ? { account_id: accountId, client_id: clientId, epoch: epoch ?? 0 } : {}),
            expires_at: expiresIn === undefined ? null : new Date(Date.now() + expiresIn * 1000),
          },
        },
        { upsert: true },
      );
      await stored.catch((error: unknown) => {
        if (ofAccount && duplicateKeyField(error) === '_id') throw new errors.SessionNotFound('it has ended');
        throw error;
      });
    },
    async find(id) {
      return payloadOf(await model.findOne(selectorOf(kind, id)).lean(), credential ? id : undefined);
    },
    async findByUid(uid) {
      return payloadOf(await model.findById(uid).lean());
    },
    async findByUserCode() {
      // The device flow is off, so no model has user codes.
      return undefined;
    },
    async consume(id) {
      await model.updateOne({ _id: keyOf(kind, id) }, { $set: { consumed_at: new Date() } });
    },
    async destroy(id) {
      await model.deleteOne({ _id: keyOf(kind, id) });
    },
    async revokeByGrantId(grantId) {
      await model.deleteMany({ grant_id: grantId });
    },
  };
}

/** An interaction contains the id of the session, which is a credential and never read from here. */
function withoutCookie(payload: AdapterPayload): AdapterPayload {
  if (payload.session === undefined) return payload;
  const { cookie: _, ...session } = payload.session as { cookie?: string };
  return { ...payload, session } as AdapterPayload;
}

/**
 * A code, a rotated refresh token and a pushed request work once (RFC 6749 §4.1.2, RFC 9700 §4.14.2, RFC 9126 §4): of
 * several concurrent requests, the one whose update matches succeeds. The others fail with `refusal`, after `onReuse` has
 * ended the grant. Much later, oidc-provider finds it consumed and ends the grant: for that it is kept for `keepSeconds`, or
 * else until it expires.
 */
function once(
  model: Model<OidcDocument>,
  refusal: () => Error,
  more: { keepSeconds?: number; onReuse?: (grantId: string) => Promise<void> } = {},
) {
  const { keepSeconds, onReuse } = more;
  return async (id: string): Promise<void> => {
    const _id = hash('sha256', id, 'base64url');
    const now = Date.now();
    const kept = keepSeconds === undefined ? {} : { expires_at: new Date(now + keepSeconds * 1000) };
    const { modifiedCount } = await model.updateOne(
      { _id, consumed_at: null },
      { $set: { consumed_at: new Date(now), ...kept } },
    );
    if (modifiedCount === 1) return;
    const used = await model.findById(_id, { grant_id: 1 }).lean();
    if (used?.grant_id !== undefined) await onReuse?.(used.grant_id);
    throw refusal();
  };
}

const alreadyUsed = () => new errors.InvalidGrant('it has already been used');

/**
 * A refresh token that was rotated a moment ago is merely not found: there may be two tabs, or a response was lost.
 * Later, oidc-provider finds it consumed and ends the family (RFC 9700 §4.14.2).
 */
function graceful(adapter: Adapter, seconds: number): Adapter {
  return {
    ...adapter,
    async find(id) {
      const payload = await adapter.find(id);
      const consumed = payload ? (payload.consumed as number | undefined) : undefined;
      return consumed !== undefined && Date.now() / 1000 - consumed < seconds ? undefined : payload;
    },
  };
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
