import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { defineCollection } from '@gatehouse/data/collection';
import type { Connection } from 'mongoose';

/** Something that a token rests on besides its own claims, and the epoch that it had then, if it has epochs. */
export type Support = { kind: string; id: string; epoch?: number | undefined };
/** A token that was issued for another credential, and ends with it. */
export type DerivedToken = {
  tokenId: string;
  /** The id of the resource of others that it is for. */
  resource?: string | undefined;
  restsOn: readonly Support[];
};

/** The unexpired tokens that were issued for other credentials. */
export type DerivedTokenStore = {
  collection: string;
  /** Durable when it resolves. */
  insert(token: DerivedToken, expiresAt: Date): Promise<void>;
  /** Those that end with this revocation; a few hundred, if there are more. */
  endedBy(revocation: Support): Promise<Pick<DerivedToken, 'tokenId' | 'resource'>[]>;
  remove(tokenIds: readonly string[]): Promise<void>;
};

type DerivedTokenDocument = {
  _id: string;
  resource?: string;
  rests_on: { ref: string; epoch?: number }[];
  expires_at: Date;
};
const BATCH = 500;
const refOf = ({ kind, id }: Support) => `${kind}:${id}`;

/** The derived tokens in MongoDB; defines their collection on the connection. */
export function createDerivedTokenStore(connection: Connection): DerivedTokenStore {
  const collection = 'derived_tokens';
  const tokens = defineCollection<DerivedTokenDocument>(connection, collection, [
    { fields: { 'rests_on.ref': 1 } },
    { fields: { expires_at: 1 } },
  ]);
  return {
    collection,
    async insert({ tokenId, resource, restsOn }, expiresAt) {
      await tokens.insertOne({
        ...{ _id: tokenId, ...omitUndefined({ resource }) },
        rests_on: restsOn.map((it) => ({ ref: refOf(it), ...omitUndefined({ epoch: it.epoch }) })),
        expires_at: expiresAt,
      });
    },
    async endedBy({ epoch, ...revoked }) {
      const below = epoch === undefined ? {} : { epoch: { $lt: epoch } };
      const found = tokens.find(
        { rests_on: { $elemMatch: { ref: refOf(revoked), ...below } }, expires_at: { $gt: new Date() } },
        { projection: { resource: 1 }, limit: BATCH },
      );
      return (await found.toArray()).map(({ _id, resource }) => ({ tokenId: _id, resource }));
    },
    async remove(tokenIds) {
      await tokens.deleteMany({ _id: { $in: [...tokenIds] } });
    },
  };
}
