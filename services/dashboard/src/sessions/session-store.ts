import { defineCollection } from '@gatehouse/data/collection';
import type { Connection } from 'mongoose';
import type { SessionStore, StoredSession } from './session.ts';

const COLLECTION = 'sessions';
/** Texts of a session that wait to be shown; the oldest make room. */
const MAX_SHOWN_ONCE = 50;

type SessionDocument = {
  _id: string;
  owner: string;
  sealed: string;
  /** Texts that are shown once, each on its page. */
  shown_once?: { page: string; sealed: string }[];
  /** The last page that refused a form, until it is shown. */
  refused?: { id: string; sealed: string };
  created_at: Date;
  expires_at: Date;
  ends_at: Date;
};

/** Sessions in MongoDB; the sweeper removes those that have expired. */
export function createSessionStore(connection: Connection): SessionStore & { collection: string } {
  const sessions = defineCollection<SessionDocument>(connection, COLLECTION, [
    { fields: { expires_at: 1 }, options: { name: 'expires_at_1' } },
    { fields: { owner: 1, created_at: 1 }, options: { name: 'owner_1_created_at_1' } },
  ]);
  return {
    collection: COLLECTION,
    async insert({ id, createdAt, expiresAt, endsAt, ...session }) {
      const times = { created_at: createdAt, expires_at: expiresAt, ends_at: endsAt };
      await sessions.insertOne({ _id: id, ...session, ...times });
    },
    async find(id) {
      const found = await sessions.findOne(
        { _id: id, expires_at: { $gt: new Date() } },
        { projection: { shown_once: 0, refused: 0 } },
      );
      return found === null ? undefined : sessionOf(found);
    },
    async replace(id, sealed) {
      await sessions.updateOne({ _id: id }, { $set: { sealed } });
    },
    async extend(id, expiresAt) {
      await sessions.updateOne({ _id: id }, { $max: { expires_at: expiresAt } });
    },
    async remove(id) {
      await sessions.deleteOne({ _id: id });
    },
    async removeOldest(owner, keep) {
      const old = await sessions
        .find({ owner }, { projection: { _id: 1 }, sort: { created_at: -1 }, skip: keep })
        .toArray();
      if (old.length > 0) await sessions.deleteMany({ _id: { $in: old.map(({ _id }) => _id) } });
    },
    async putRefused(id, refused) {
      await sessions.updateOne({ _id: id }, { $set: { refused } });
    },
    async takeRefused(id, refused) {
      const before = await sessions.findOneAndUpdate(
        { _id: id, 'refused.id': refused },
        { $unset: { refused: 1 } },
        { projection: { refused: 1 } },
      );
      return before?.refused?.sealed;
    },
    async putFlash(id, page, sealed) {
      const entries = { $each: [{ page, sealed }], $slice: -MAX_SHOWN_ONCE };
      await sessions.updateOne({ _id: id }, { $push: { shown_once: entries } });
    },
    async takeFlashes(id, page) {
      const before = await sessions.findOneAndUpdate(
        { _id: id, 'shown_once.page': page },
        { $pull: { shown_once: { page } } },
        { projection: { shown_once: 1 } },
      );
      return (before?.shown_once ?? []).filter((it) => it.page === page).map(({ sealed }) => sealed);
    },
  };
}

function sessionOf({ _id, owner, sealed, created_at, expires_at, ends_at }: SessionDocument): StoredSession {
  return { id: _id, owner, sealed, createdAt: created_at, expiresAt: expires_at, endsAt: ends_at };
}
