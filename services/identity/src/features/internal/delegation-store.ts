import { type Connection, type InferSchemaType, Schema } from 'mongoose';
import type { Delegation, DelegationStore } from './delegations.ts';

const COLLECTION = 'delegations';

const schema = new Schema(
  {
    /** The hash of the handle. */
    _id: { type: String, required: true },
    actor: { type: String, required: true },
    subject: { type: String, required: true },
    client_id: { type: String, required: true },
    person_id: { type: String, default: null },
    role: { type: String, default: null },
    grant_id: { type: String, default: null },
    key_id: { type: String, default: null },
    scopes: { type: [String], required: true },
    client_epoch: { type: Number, required: true },
    subject_epoch: { type: Number, required: true },
    expires_at: { type: Date, required: true },
  },
  { versionKey: false, strict: 'throw' },
);
type Role = NonNullable<Delegation['person']>['role'];
type DelegationDocument = InferSchemaType<typeof schema>;
schema.index({ expires_at: 1 });

/** Delegations in MongoDB; defines its model on the connection. */
export function createDelegationStore(connection: Connection): DelegationStore {
  const delegations = connection.model<DelegationDocument>('Delegation', schema, COLLECTION);
  return {
    collection: COLLECTION,
    async insert(handleHash, { clientId, person, grantId, keyId, epoch, scopes, expiresAt, ...same }) {
      await delegations.insertOne({
        ...same,
        _id: handleHash,
        client_id: clientId,
        person_id: person?.id ?? null,
        role: person?.role ?? null,
        grant_id: grantId ?? null,
        key_id: keyId ?? null,
        client_epoch: epoch.client,
        subject_epoch: epoch.subject,
        scopes: [...scopes],
        expires_at: expiresAt,
      });
    },
    async removeAllOf(personId) {
      await delegations.deleteMany({ person_id: personId });
    },
    async find(handleHash) {
      // The sweeper comes late: what has expired does not count.
      const found = await delegations.findOne({ _id: handleHash, expires_at: { $gt: new Date() } }).lean();
      if (found === null) return undefined;
      const { actor, subject, person_id: id, role, scopes } = found;
      return {
        actor,
        subject,
        clientId: found.client_id,
        scopes,
        expiresAt: found.expires_at,
        person: id == null ? undefined : { id, role: role as Role },
        grantId: found.grant_id ?? undefined,
        keyId: found.key_id ?? undefined,
        epoch: { client: found.client_epoch, subject: found.subject_epoch },
      };
    },
  };
}
