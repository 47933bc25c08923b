import { hash } from 'node:crypto';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { defineCollection } from '@gatehouse/data/collection';
import type { Connection } from 'mongoose';

/** A token or an API key that works at a resource of somebody else. */
export type ResourceToken = {
  /** The id of the resource. */
  resource: string;
  clientId: string;
  /** The person whom a token is about, or the owner of the application that has it for itself. */
  subject?: string | undefined;
  grantId?: string | undefined;
  apiKeyId?: string | undefined;
};

/** The resources of others at which unexpired credentials work, and whose these are: a revocation concerns no other resource. */
export type ResourceTokenStore = {
  collection: string;
  /** Durable when it resolves. */
  note(token: ResourceToken, expiresAt: Date): Promise<void>;
  /** The ids of the resources at which a revoked credential may still be used. */
  resourcesOf(kind: string, id: string): Promise<string[]>;
};

type ResourceTokenDocument = {
  _id: string;
  resource: string;
  client: string;
  subject?: string;
  grant?: string;
  api_key?: string;
  expires_at: Date;
};
/** The kinds of revocations that concern several tokens: the field with the same name has the id. */
const FIELDS = ['client', 'subject', 'grant', 'api_key'] as const;
type Field = (typeof FIELDS)[number];

/** The resource tokens in MongoDB; defines their collection on the connection. */
export function createResourceTokenStore(connection: Connection): ResourceTokenStore {
  const collection = 'resource_tokens';
  const tokens = defineCollection<ResourceTokenDocument>(connection, collection, [
    ...FIELDS.map((field) => ({ fields: { [field]: 1 } as const, options: { sparse: true } })),
    { fields: { expires_at: 1 } },
  ]);
  return {
    collection,
    async note({ resource, clientId, subject, grantId, apiKeyId }, expiresAt) {
      const of = omitUndefined({ resource, client: clientId, subject, grant: grantId, api_key: apiKeyId });
      const _id = hash('sha256', JSON.stringify(of), 'base64url');
      await tokens.updateOne({ _id }, { $set: of, $max: { expires_at: expiresAt } }, { upsert: true });
    },
    async resourcesOf(kind, id) {
      if (!(FIELDS as readonly string[]).includes(kind)) return [];
      return tokens.distinct('resource', { [kind as Field]: id, expires_at: { $gt: new Date() } });
    },
  };
}
