import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import type { RemovedDocuments } from '@gatehouse/data/removed-documents';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { AUTHENTICATOR_APP, type AuthenticatorApp, type AuthenticatorAppStore } from './authenticator-app.ts';

type AppDocument = StoredOf<typeof AUTHENTICATOR_APP>;
const { read, write, update } = createDocumentMapper(AUTHENTICATOR_APP);

/** Authenticator apps in MongoDB, one document for each account; defines its collection on the connection. */
export function createAuthenticatorAppStore(
  connection: Connection,
  removed: RemovedDocuments,
): AuthenticatorAppStore {
  const apps = defineCollection<AppDocument>(connection, 'authenticator_apps', []);

  /** Changes one, if it is still there and `more` holds. */
  async function change(
    { userId: _id, id: app_id }: { userId: string; id: string },
    more: Record<string, unknown>,
    changes: Record<string, unknown>,
  ): Promise<boolean> {
    return (await apps.updateOne({ _id, app_id, ...more }, changes)).matchedCount === 1;
  }

  async function insert(app: AuthenticatorApp): Promise<boolean> {
    try {
      await apps.insertOne({ _id: app.userId, ...write(app) });
      return true;
    } catch (error) {
      if (duplicateKeyField(error) === '_id') return false;
      throw error;
    }
  }

  return {
    insert,
    async find(_id) {
      const document = await apps.findOne({ _id });
      return document === null ? undefined : read(document);
    },
    useStep: (app, lastStep) =>
      change(app, { last_step: { $lt: lastStep } }, update({ lastStep, lastUsedAt: new Date() })),
    useRecoveryCode: (app, code) =>
      change(app, { recovery_codes: code }, { $pull: { recovery_codes: code } }),
    replaceRecoveryCodes: (app, codes) => change(app, {}, update({ ...codes, codesRenewedAt: new Date() })),
    async remove({ userId: _id, id: app_id }) {
      const document = await apps.findOne({ _id, app_id });
      if (document === null) return false;
      await removed.keep('authenticator_app', _id, document, app_id);
      return (await apps.deleteOne({ _id, app_id })).deletedCount === 1;
    },
    async restore({ userId, id }, before) {
      const document = await removed.find<AppDocument>('authenticator_app', userId, id);
      return document !== undefined && document.created_at < before && insert(read(document));
    },
    async removeSince(_id, time = new Date(0)) {
      await apps.updateOne({ _id, codes_renewed_at: { $gt: time } }, update({ recoveryCodes: [] }));
      return (await apps.deleteOne({ _id, created_at: { $gt: time } })).deletedCount === 1;
    },
    async *all() {
      for await (const document of apps.find()) yield read(document);
      for await (const document of removed.all<AppDocument>('authenticator_app')) yield read(document);
    },
    // It may have been removed, or restored, meanwhile.
    reseal: async (app, sealedSecret) =>
      [
        await removed.set('authenticator_app', app.id, 'sealed_secret', sealedSecret),
        await change(app, {}, update({ sealedSecret })),
      ].includes(true),
  };
}
