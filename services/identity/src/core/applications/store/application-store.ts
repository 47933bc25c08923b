import { omitUndefined } from '@gatehouse/core/omit-undefined';
import type { DocumentCollection } from '@gatehouse/data/collection';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { insertInSlot } from '@gatehouse/data/slots';
import { wordsOf } from '@gatehouse/domain/search-words';
import { type Connection, Schema } from 'mongoose';
import {
  type Application,
  type ApplicationCache,
  type ApplicationChanges,
  type ApplicationStore,
  type ApplicationType,
  type ClientSecret,
  type IdTokenAlgorithm,
  type LastUse,
  MAX_APPLICATIONS,
  MAX_SECRETS,
  operatorsTrust,
  type Profiles,
  type PublicKeySet,
  type SecurityProfile,
  type Trust,
} from '../application.ts';
import { createApplicationLists } from './application-store-list.ts';

type SecretDocument = {
  id: string;
  hash: string;
  label?: string | null;
  last_four?: string | null;
  created_at: Date;
  expires_at?: Date | null;
  last_used_at?: Date | null;
  last_used_address?: string | null;
};

/** As stored. Optional fields are absent from documents of earlier versions. */
type ApplicationDocument = {
  _id: string;
  name: string;
  /** Of the name, for searches. */
  words?: string[];
  type: ApplicationType;
  owner: string | null;
  /** From 0 to MAX_APPLICATIONS - 1, unique for an owner, which limits their applications. Absent from deleted ones. */
  slot?: number;
  trusted: boolean;
  trust?: { by: string | null; at: Date; owner_role: Trust['ownerRole'] };
  scopes: string[];
  redirect_uris?: string[];
  post_logout_redirect_uris?: string[];
  profiles?: Profiles;
  legacy_implicit?: boolean;
  jwks?: PublicKeySet;
  backchannel_logout_uri?: string;
  dpop_bound?: boolean;
  require_pushed_requests?: boolean;
  id_token_algorithm?: IdTokenAlgorithm;
  security_profile?: SecurityProfile;
  secrets: SecretDocument[];
  last_used_at?: Date;
  last_used_address?: string | null;
  epoch: number;
  consent_epoch?: number;
  created_at: Date;
  updated_at?: Date;
  deleted_at?: Date;
  /** The epoch of the owner's account for which this one's was raised last. */
  owner_epoch?: number;
  /** 1 from when the epoch is raised until the revocation has been written. */
  revocation_due?: 1;
  /** 1 from when it gets another owner until its API keys and what people have allowed it have ended. */
  transfer_due?: 1;
};

const secret = new Schema<SecretDocument>(
  {
    id: { type: String, required: true },
    hash: { type: String, required: true },
    label: { type: String, default: null },
    last_four: { type: String, default: null },
    created_at: { type: Date, required: true },
    expires_at: { type: Date, default: null },
    last_used_at: { type: Date, default: null },
    last_used_address: { type: String, default: null },
  },
  { _id: false, id: false },
);

const schema = new Schema<ApplicationDocument>(
  {
    _id: { type: String, required: true },
    name: { type: String, required: true },
    words: { type: [String], default: undefined },
    type: { type: String, required: true },
    owner: { type: String, default: null },
    slot: { type: Number },
    trusted: { type: Boolean, required: true },
    trust: { type: Schema.Types.Mixed },
    scopes: { type: [String], required: true },
    redirect_uris: { type: [String] },
    post_logout_redirect_uris: { type: [String] },
    profiles: { type: Schema.Types.Mixed },
    legacy_implicit: { type: Boolean },
    jwks: { type: Schema.Types.Mixed },
    backchannel_logout_uri: { type: String },
    dpop_bound: { type: Boolean },
    require_pushed_requests: { type: Boolean },
    id_token_algorithm: { type: String },
    security_profile: { type: String },
    secrets: { type: [secret], required: true },
    last_used_at: { type: Date },
    last_used_address: { type: String },
    epoch: { type: Number, required: true },
    consent_epoch: { type: Number },
    created_at: { type: Date, required: true },
    updated_at: { type: Date },
    deleted_at: { type: Date },
    owner_epoch: { type: Number },
    revocation_due: { type: Number },
    transfer_due: { type: Number },
  },
  { versionKey: false, strict: 'throw' },
);
schema.index({ owner: 1, _id: 1 });
schema.index({ owner: 1, slot: 1 }, { unique: true, partialFilterExpression: { slot: { $gte: 0 } } });
schema.index({ words: 1 });
schema.index({ revocation_due: 1 }, { sparse: true });

/** How many applications one query for unwritten revocations returns. */
const BATCH = 100;

/** Applications in MongoDB, read through a cache; defines its model on the connection. */
export function createApplicationStore(connection: Connection, cache: ApplicationCache): ApplicationStore {
  const applications = connection.model<ApplicationDocument>('Application', schema, 'applications');
  let forgotten = 0;

  /** A read that is under way may return what was there before the change, so it is not cached either. */
  function forget(id: string): void {
    forgotten += 1;
    cache.delete(id);
  }

  /** A write that every later read in this process sees. */
  async function writing<T>(id: string, write: Promise<T>): Promise<T> {
    try {
      return await write;
    } finally {
      forget(id);
    }
  }

  const notDeleted = (id: string) => ({ _id: id, deleted_at: null });
  /** As it was read. Documents of earlier versions have no time of change. */
  const unchanged = ({ id, updatedAt }: Application) => ({
    ...notDeleted(id),
    updated_at: { $in: [updatedAt, null] },
  });

  async function findNow(id: string): Promise<Application | undefined> {
    const before = forgotten;
    const document = await applications.findOne(notDeleted(id)).lean();
    if (document === null) {
      cache.delete(id);
      return undefined;
    }
    const application = applicationOf(document);
    if (forgotten === before) cache.set(id, application);
    return application;
  }

  return {
    async insertIfAbsent(application) {
      try {
        await writing(application.id, applications.create(documentOf(application)));
        return true;
      } catch (error) {
        if (duplicateKeyField(error) === '_id') return false;
        throw error;
      }
    },

    insert(application) {
      const { owner } = application;
      return insertInSlot({
        limit: MAX_APPLICATIONS,
        field: 'owner',
        taken: () => applications.find({ owner, deleted_at: null }, { slot: 1 }).lean(),
        insert: (slot) => writing(application.id, applications.create({ ...documentOf(application), slot })),
      });
    },

    findById: async (id) => cache.get(id) ?? findNow(id),

    findNow,

    source: createApplicationLists(applications.collection as unknown as DocumentCollection, applicationOf),

    async list({ owner, after, limit }) {
      const documents = await applications
        .find({
          ...omitUndefined({ owner, _id: after && { $gt: after } }),
          deleted_at: null,
        })
        .sort({ _id: 1 })
        .limit(limit)
        .lean();
      return documents.map(applicationOf);
    },

    async change(read, changes, shrinks) {
      const { set, unset } = fieldsOf(changes);
      const document = await writing(
        read.id,
        applications
          .findOneAndUpdate(
            unchanged(read),
            {
              $set: { ...set, updated_at: laterThan(read.updatedAt), revocation_due: 1 },
              ...(unset.length === 0 ? {} : { $unset: Object.fromEntries(unset.map((name) => [name, 1])) }),
              ...(shrinks ? { $inc: { epoch: 1 } } : {}),
            },
            { returnDocument: 'after' },
          )
          .lean(),
      );
      return document === null ? undefined : applicationOf(document);
    },

    async transfer(read, owner) {
      let transferred: ApplicationDocument | null = null;
      const hasRoom = await insertInSlot({
        limit: MAX_APPLICATIONS,
        field: 'owner',
        taken: () => applications.find({ owner, deleted_at: null }, { slot: 1 }).lean(),
        async insert(slot) {
          const changing = applications.findOneAndUpdate(
            unchanged(read),
            {
              $set: {
                owner,
                slot,
                trusted: false,
                secrets: [],
                revocation_due: 1,
                transfer_due: 1,
                updated_at: laterThan(read.updatedAt),
              },
              // The epochs of another account say nothing about this one's.
              $unset: { jwks: 1, trust: 1, owner_epoch: 1, backchannel_logout_uri: 1 },
              $inc: { epoch: 1, consent_epoch: 1 },
            },
            { returnDocument: 'after' },
          );
          transferred = await writing(read.id, changing.lean().exec());
        },
      });
      if (!hasRoom) return 'full';
      return transferred === null ? undefined : applicationOf(transferred);
    },

    async raiseEpochsOf(owner, ownerEpoch) {
      await applications.updateMany(
        { owner, trusted: false, deleted_at: null, owner_epoch: { $not: { $gte: ownerEpoch } } },
        { $set: { owner_epoch: ownerEpoch, revocation_due: 1 }, $inc: { epoch: 1 } },
      );
    },

    // It may be repeated: a deletion that was interrupted is found and completed.
    async markDeleted(id, owner) {
      const update = {
        $set: { deleted_at: new Date(), secrets: [], revocation_due: 1 },
        $inc: { epoch: 1 },
        $unset: { slot: 1 },
      };
      const changing = applications
        .findOneAndUpdate({ _id: id, ...omitUndefined({ owner }) }, update, { returnDocument: 'after' })
        .lean();
      const document = await writing(id, changing.exec());
      return document === null ? undefined : applicationOf(document);
    },

    async revocationWritten(id, epoch) {
      const written = { _id: id, epoch };
      const { matchedCount } = await applications.updateOne(
        { ...written, deleted_at: null },
        { $unset: { revocation_due: 1, transfer_due: 1 } },
      );
      if (matchedCount === 0) await applications.deleteOne({ ...written, deleted_at: { $ne: null } });
    },

    async awaitingRevocation(owner) {
      const documents = await applications
        .find({ revocation_due: 1, ...omitUndefined({ owner }) })
        .limit(BATCH)
        .lean();
      return documents.map((document) => ({
        application: applicationOf(document),
        over: document.deleted_at !== undefined || document.transfer_due === 1,
      }));
    },

    async addSecret({ id, owner }, added) {
      const expired = { expires_at: { $lte: new Date() } };
      await applications.updateOne(notDeleted(id), { $pull: { secrets: expired } });
      const { matchedCount } = await writing(
        id,
        applications.updateOne(
          { ...notDeleted(id), owner, [`secrets.${MAX_SECRETS - 1}`]: { $exists: false } },
          { $push: { secrets: secretDocumentOf(added) } },
        ),
      );
      if (matchedCount > 0) return true;
      return (await applications.exists({ ...notDeleted(id), owner })) === null ? undefined : false;
    },

    async removeSecret(id, secretId) {
      const document = await writing(
        id,
        applications
          .findOneAndUpdate(
            { ...notDeleted(id), 'secrets.id': secretId },
            { $pull: { secrets: { id: secretId } }, $set: { revocation_due: 1 } },
            { returnDocument: 'after' },
          )
          .lean(),
      );
      return document === null ? undefined : applicationOf(document);
    },

    async used(id, { at, address }) {
      await applications.updateOne(
        { _id: id, last_used_at: { $not: { $gte: at } } },
        { $set: { last_used_at: at, last_used_address: address } },
      );
    },

    async secretUsed(id, secretId, { at, address }) {
      await applications.updateOne(
        { _id: id, secrets: { $elemMatch: { id: secretId, last_used_at: { $not: { $gte: at } } } } },
        { $set: { 'secrets.$.last_used_at': at, 'secrets.$.last_used_address': address } },
      );
    },

    forget,
  };
}

/** The fields of a document that changes set, and those that they remove. */
function fieldsOf(changes: ApplicationChanges & { trust?: Trust | undefined }) {
  const {
    redirectUris,
    postLogoutRedirectUris,
    legacyImplicit,
    backchannelLogoutUri,
    dpopBound,
    requirePushedRequests,
    idTokenAlgorithm,
    securityProfile,
    trust,
    ...same
  } = changes;
  const fields = {
    ...same,
    words: same.name === undefined ? undefined : wordsOf(same.name),
    trust: trust && { by: trust.by, at: trust.at, owner_role: trust.ownerRole },
    redirect_uris: redirectUris,
    post_logout_redirect_uris: postLogoutRedirectUris,
    legacy_implicit: legacyImplicit,
    backchannel_logout_uri: backchannelLogoutUri,
    dpop_bound: dpopBound,
    require_pushed_requests: requirePushedRequests,
    id_token_algorithm: idTokenAlgorithm,
    security_profile: securityProfile,
  };
  const unset = [
    ...('jwks' in changes && changes.jwks === undefined ? ['jwks'] : []),
    ...('backchannelLogoutUri' in changes && backchannelLogoutUri === undefined
      ? ['backchannel_logout_uri']
      : []),
    ...('securityProfile' in changes && securityProfile === undefined ? ['security_profile'] : []),
    ...(changes.trusted === false ? ['trust'] : []),
  ];
  return { set: omitUndefined(fields) as Partial<ApplicationDocument>, unset };
}

/** A time of change that no earlier version has. */
function laterThan(before: Date): Date {
  return new Date(Math.max(Date.now(), before.getTime() + 1));
}

function documentOf(application: Application): ApplicationDocument {
  const {
    id,
    type,
    owner,
    secrets,
    lastUse: _,
    epoch,
    consentEpoch,
    createdAt,
    updatedAt,
    ...changes
  } = application;
  return {
    ...(fieldsOf(changes).set as Pick<ApplicationDocument, 'name' | 'trusted' | 'scopes'>),
    _id: id,
    type,
    owner,
    secrets: secrets.map(secretDocumentOf),
    epoch,
    consent_epoch: consentEpoch,
    created_at: createdAt,
    updated_at: updatedAt,
  };
}

function secretDocumentOf(secret: ClientSecret): SecretDocument {
  const { id, hash, label, lastFour, createdAt, expiresAt } = secret;
  return { id, hash, label, last_four: lastFour, created_at: createdAt, expires_at: expiresAt };
}

function lastUseOf(stored: Pick<SecretDocument, 'last_used_at' | 'last_used_address'>): LastUse | null {
  const { last_used_at: at, last_used_address: address } = stored;
  return at == null ? null : { at, address: address ?? null };
}

function applicationOf(document: ApplicationDocument): Application {
  return {
    id: document._id,
    name: document.name,
    type: document.type,
    owner: document.owner,
    trusted: document.trusted,
    trust: document.trusted ? trustOf(document) : undefined,
    scopes: document.scopes,
    redirectUris: document.redirect_uris ?? [],
    postLogoutRedirectUris: document.post_logout_redirect_uris ?? [],
    profiles: document.profiles ?? {},
    legacyImplicit: document.legacy_implicit ?? false,
    jwks: document.jwks,
    backchannelLogoutUri: document.backchannel_logout_uri,
    dpopBound: document.dpop_bound ?? false,
    requirePushedRequests: document.require_pushed_requests ?? false,
    idTokenAlgorithm: document.id_token_algorithm ?? 'RS256',
    securityProfile: document.security_profile,
    secrets: document.secrets.map(({ id, hash, label, last_four, created_at, expires_at, ...use }) => ({
      id,
      hash,
      label: label ?? null,
      lastFour: last_four ?? null,
      createdAt: created_at,
      expiresAt: expires_at ?? null,
      lastUse: lastUseOf(use),
    })),
    lastUse: lastUseOf(document),
    epoch: document.epoch,
    consentEpoch: document.consent_epoch ?? 0,
    createdAt: document.created_at,
    updatedAt: document.updated_at ?? document.created_at,
  };
}

function trustOf({ trust, created_at }: ApplicationDocument): Trust {
  if (trust === undefined) return operatorsTrust(created_at);
  return { by: trust.by, at: trust.at, ownerRole: trust.owner_role };
}
