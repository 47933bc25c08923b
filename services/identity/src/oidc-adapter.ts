import { hash } from 'node:crypto';
import { type Connection, type Model, Schema } from 'mongoose';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';

/** One document of oidc-provider's: a code, a refresh token, a grant, a session. */
type OidcDocument = {
  _id: string;
  /** The payload as JSON: its keys are URLs and client ids, which do not do as field names. */
  payload: string;
  grant_id?: string | undefined;
  uid?: string | undefined;
  consumed_at: Date | null;
  expires_at: Date | null;
};

type Spec = {
  collection: string;
  /** The field beside the id by which it is looked for. */
  key?: 'uid' | 'grant_id';
  /** Whether whoever knows the id can use it. */
  credential?: boolean;
};

/** What oidc-provider keeps. */
const KINDS = {
  Session: { collection: 'oidc_sessions', key: 'uid' },
  Interaction: { collection: 'oidc_interactions' },
  Grant: { collection: 'oidc_grants' },
  AuthorizationCode: { collection: 'oidc_authorization_codes', key: 'grant_id', credential: true },
  RefreshToken: { collection: 'oidc_refresh_tokens', key: 'grant_id', credential: true },
  AccessToken: { collection: 'oidc_access_tokens', key: 'grant_id', credential: true },
  ClientCredentials: { collection: 'oidc_client_credentials', credential: true },
  PushedAuthorizationRequest: { collection: 'oidc_pushed_requests' },
  ReplayDetection: { collection: 'oidc_replay_detections' },
} as const satisfies Record<string, Spec>;

type Kind = keyof typeof KINDS;

export type OidcStore = {
  /** The adapter for one of oidc-provider's models. */
  adapterFor(name: string): Adapter;
  /** Where documents expire, for the sweeper. */
  collections: readonly string[];
};

/**
 * oidc-provider's storage in MongoDB. Expiry is checked when reading, since documents are swept late and in
 * batches. Clients are not kept here: `findClient` reads them from the applications.
 */
export function createOidcStore(
  connection: Connection,
  findClient: (id: string) => Promise<AdapterPayload | undefined>,
): OidcStore {
  const models = new Map(
    (Object.keys(KINDS) as Kind[]).map((kind) => [kind, defineModel(connection, kind)] as const),
  );
  return {
    collections: Object.values(KINDS).map(({ collection }) => collection),
    adapterFor(name) {
      if (name === 'Client') return clientAdapter(findClient);
      const model = models.get(name as Kind);
      if (model === undefined)
        throw new Error(`oidc-provider wants to store ${name}, which has no collection`);
      return documentAdapter(model, name as Kind);
    },
  };
}

function defineModel(connection: Connection, kind: Kind): Model<OidcDocument> {
  const schema = new Schema<OidcDocument>(
    {
      _id: { type: String, required: true },
      payload: { type: String, required: true },
      grant_id: { type: String },
      uid: { type: String },
      consumed_at: { type: Date, default: null },
      expires_at: { type: Date, default: null },
    },
    { versionKey: false, strict: 'throw' },
  );
  schema.index({ expires_at: 1 });
  const spec: Spec = KINDS[kind];
  if (spec.key === 'uid') schema.index({ uid: 1 }, { unique: true });
  if (spec.key === 'grant_id') schema.index({ grant_id: 1 });
  return connection.model<OidcDocument>(`Oidc${kind}`, schema, spec.collection);
}

function documentAdapter(model: Model<OidcDocument>, kind: Kind): Adapter {
  const { credential = false }: Spec = KINDS[kind];
  // Whoever reads the database must not find codes and tokens to use: of those, only the hash is kept.
  const keyOf = (id: string) => (credential ? hash('sha256', id, 'base64url') : id);

  const payloadOf = (document: OidcDocument | null, id?: string): AdapterPayload | undefined => {
    if (document === null) return undefined;
    const { expires_at, consumed_at, payload } = document;
    if (expires_at !== null && expires_at.getTime() <= Date.now()) return undefined;
    return {
      ...(JSON.parse(payload) as AdapterPayload),
      ...(credential && id !== undefined ? { jti: id } : {}),
      ...(consumed_at === null ? {} : { consumed: Math.floor(consumed_at.getTime() / 1000) }),
    };
  };

  return {
    async upsert(id, payload, expiresIn) {
      const { jti, ...rest } = payload;
      await model.updateOne(
        { _id: keyOf(id) },
        {
          $set: {
            payload: JSON.stringify(credential ? rest : { jti, ...rest }),
            grant_id: payload.grantId,
            uid: payload.uid,
            expires_at: expiresIn === undefined ? null : new Date(Date.now() + expiresIn * 1000),
          },
        },
        { upsert: true },
      );
    },
    async find(id) {
      return payloadOf(await model.findById(keyOf(id)).lean(), id);
    },
    async findByUid(uid) {
      return payloadOf(await model.findOne({ uid }).lean());
    },
    async findByUserCode() {
      // The device flow is off; no model has user codes.
      return undefined;
    },
    async consume(id) {
      // A code and a rotated refresh token serve once (RFC 6749 §4.1.2, RFC 9700 §4.14.2): of several requests
      // at the same moment, the one whose update matches goes on.
      const { modifiedCount } = await model.updateOne(
        { _id: keyOf(id), consumed_at: null },
        { $set: { consumed_at: new Date() } },
      );
      if (modifiedCount !== 1) throw new errors.InvalidGrant('it has been used already');
    },
    async destroy(id) {
      await model.deleteOne({ _id: keyOf(id) });
    },
    async revokeByGrantId(grantId) {
      await model.deleteMany({ grant_id: grantId });
    },
  };
}

/** Clients are read only: they are made and changed as applications. */
function clientAdapter(find: (id: string) => Promise<AdapterPayload | undefined>): Adapter {
  const refuse = async (): Promise<never> => {
    throw new Error('clients are not changed through oidc-provider');
  };
  const none = async () => undefined;
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
