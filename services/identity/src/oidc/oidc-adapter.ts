import { hash } from 'node:crypto';
import { duplicateKeyField } from '@gatehouse/mongo/duplicate-key';
import { type Connection, type Model, Schema } from 'mongoose';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import { invalidRequestUri, keptForInteractions } from './pushed-requests.ts';

/** A document of oidc-provider's, such as a code, a refresh token, a grant or a session. */
type OidcDocument = {
  _id: string;
  /** The payload as JSON: its keys include URLs and client ids, which are no field names. */
  payload: string;
  grant_id?: string | undefined;
  uid?: string | undefined;
  account_id?: string | undefined;
  client_id?: string | undefined;
  /** The account's sign_in_epoch when this was created; it has ended once the account's is higher. */
  epoch?: number | undefined;
  consumed_at: Date | null;
  expires_at: Date | null;
};

type Spec = {
  collection: string;
  /** The field other than the id by which it is found. */
  key?: 'uid' | 'grant_id';
  /** Whether its id is a secret, which is stored only as a hash. */
  credential?: boolean;
  /** Whether it belongs to an account, by which it is found and ended. */
  ofAccount?: boolean;
};

/** What oidc-provider stores. */
const KINDS = {
  Session: { collection: 'oidc_sessions', key: 'uid', credential: true, ofAccount: true },
  Interaction: { collection: 'oidc_interactions' },
  Grant: { collection: 'oidc_grants', ofAccount: true },
  AuthorizationCode: { collection: 'oidc_authorization_codes', key: 'grant_id', credential: true },
  RefreshToken: { collection: 'oidc_refresh_tokens', key: 'grant_id', credential: true },
  PushedAuthorizationRequest: { collection: 'oidc_pushed_requests', credential: true },
  ReplayDetection: { collection: 'oidc_replay_detections' },
} as const satisfies Record<string, Spec>;

type Kind = keyof typeof KINDS;

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
  /** Makes a document expire `seconds` from now. */
  extend(kind: 'RefreshToken' | 'Grant', id: string, seconds: number): Promise<void>;
  sessionsOf(accountId: string): Promise<OfAccount[]>;
  grantsOf(accountId: string): Promise<OfAccount[]>;
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
};

/** oidc-provider's storage in MongoDB. Expiry is checked when reading, since documents are swept late. */
export function createOidcStore(connection: Connection, options: OidcStoreOptions): OidcStore {
  const models = Object.fromEntries(
    (Object.keys(KINDS) as Kind[]).map((kind) => [kind, defineModel(connection, kind)]),
  ) as Record<Kind, Model<OidcDocument>>;

  // Denied first, which covers what is issued meanwhile: after a crash in between, the grant can be ended again.
  async function endGrant(id: string): Promise<void> {
    await options.denyGrant(id);
    await models.Grant.deleteOne({ _id: id });
    await Promise.all([
      models.AuthorizationCode.deleteMany({ grant_id: id }),
      models.RefreshToken.deleteMany({ grant_id: id }),
    ]);
  }

  async function endGrants(filter: { account_id: string; epoch: object } | { client_id: string }) {
    const grants = await models.Grant.find(filter, { _id: 1 }).lean();
    for (const { _id } of grants) await endGrant(_id);
  }

  async function ofAccount(kind: 'Session' | 'Grant', accountId: string): Promise<OfAccount[]> {
    const documents = await models[kind].find({ account_id: accountId }).sort({ _id: -1 }).limit(200).lean();
    return documents.flatMap((document) => {
      const payload = payloadOf(document);
      return payload === undefined ? [] : [{ id: document._id, payload, expiresAt: document.expires_at }];
    });
  }

  return {
    collections: Object.values(KINDS).map(({ collection }) => collection),
    adapterFor(name) {
      if (name === 'Client') return readOnly(options.findClient);
      if (STATELESS.has(name)) return statelessAdapter(name, options);
      const model = models[name as Kind];
      if (model === undefined)
        throw new Error(`oidc-provider tried to store ${name}, which has no collection`);
      const adapter = documentAdapter(model, name as Kind);
      if (name === 'Grant') return { ...adapter, destroy: endGrant };
      if (name === 'AuthorizationCode') return { ...adapter, consume: once(model, alreadyUsed, endGrant) };
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
      await models[kind].updateOne({ _id }, { $set: { expires_at: new Date(Date.now() + seconds * 1000) } });
    },
    sessionsOf: (accountId) => ofAccount('Session', accountId),
    grantsOf: (accountId) => ofAccount('Grant', accountId),
    async endSession(accountId, uid) {
      // Two concurrent requests, each of which gave the session a new id, leave two documents.
      const { deletedCount } = await models.Session.deleteMany({ uid, account_id: accountId });
      return deletedCount > 0;
    },
    endGrant,
    async endSignIns(accountId, belowEpoch) {
      const epoch = { $lt: belowEpoch };
      await models.Session.deleteMany({ account_id: accountId, epoch });
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
      uid: { type: String },
      account_id: { type: String },
      client_id: { type: String },
      epoch: { type: Number },
      consumed_at: { type: Date, default: null },
      expires_at: { type: Date, default: null },
    },
    { versionKey: false, strict: 'throw' },
  );
  schema.index({ expires_at: 1 });
  const spec: Spec = KINDS[kind];
  if (spec.key === 'uid') schema.index({ uid: 1 });
  if (spec.key === 'grant_id') schema.index({ grant_id: 1 });
  if (spec.ofAccount === true) schema.index({ account_id: 1, epoch: 1 });
  if (kind === 'Grant') schema.index({ client_id: 1 });
  return connection.model<OidcDocument>(`Oidc${kind}`, schema, spec.collection);
}

/** Nobody who reads the database may find usable codes and tokens: only their hashes are stored. */
function keyOf(kind: Kind, id: string): string {
  const { credential = false }: Spec = KINDS[kind];
  return credential ? hash('sha256', id, 'base64url') : id;
}

/** What oidc-provider gets back. `id` is given for credentials, whose ids are not stored. */
function payloadOf(document: OidcDocument | null, id?: string): AdapterPayload | undefined {
  if (document === null) return undefined;
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
      await model.updateOne(
        { _id: keyOf(kind, id) },
        {
          $set: {
            payload: JSON.stringify(credential ? rest : { jti, ...rest }),
            grant_id: payload.grantId,
            uid: payload.uid,
            ...(ofAccount ? { account_id: accountId, client_id: clientId, epoch: epoch ?? 0 } : {}),
            expires_at: expiresIn === undefined ? null : new Date(Date.now() + expiresIn * 1000),
          },
        },
        { upsert: true },
      );
    },
    async find(id) {
      return payloadOf(await model.findById(keyOf(kind, id)).lean(), credential ? id : undefined);
    },
    async findByUid(uid) {
      return payloadOf(await model.findOne({ uid }).lean());
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
 * ended the grant.
 */
function once(
  model: Model<OidcDocument>,
  refusal: () => Error,
  onReuse?: (grantId: string) => Promise<void>,
) {
  return async (id: string): Promise<void> => {
    const _id = hash('sha256', id, 'base64url');
    const { modifiedCount } = await model.updateOne(
      { _id, consumed_at: null },
      { $set: { consumed_at: new Date() } },
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
