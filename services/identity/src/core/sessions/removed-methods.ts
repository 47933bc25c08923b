import { createRemovedDocuments } from '@gatehouse/data/removed-documents';
import type { Connection } from 'mongoose';
import { UNDO_SECONDS } from '../accounts/account-mails.ts';

/** The sign-in methods that were removed: they are put back when the removal is undone in time. */
export const createRemovedMethods = (connection: Connection) =>
  createRemovedDocuments(connection, { collection: 'removed_sign_in_methods', seconds: UNDO_SECONDS });
