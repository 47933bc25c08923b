import type { Connection } from 'mongoose';
import { createLastUsedRecorder } from '../applications/last-used.ts';
import type { Revocations } from '../revocations/revocations.ts';
import { createLoginStore } from './login-store.ts';
import { createLogins } from './logins.ts';

/** Logins at the API, with their store. */
export function createLoginsModule({
  connection,
  revocations,
}: {
  connection: Connection;
  revocations: Revocations;
}) {
  const store = createLoginStore(connection);
  const recordUse = createLastUsedRecorder((id, { at }) => store.used(id, at));
  return { logins: createLogins({ store, revocations, recordUse }), collections: [store.collection] };
}
