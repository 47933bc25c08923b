import { Readable } from 'node:stream';
import { parseJsonBody } from '@gatehouse/api/http/json-body';
import { isBlank, splitLines } from '@gatehouse/api/http/lines';
import { ServiceError } from '@gatehouse/core/errors';
import { derivedUsername, MAX_DERIVATIONS } from '../derived-username.ts';
import { newUserRecord, TakenError, type UserStore } from '../user.ts';
import { jsonElements } from './json-elements.ts';
import { importedAccount, type Source } from './source.ts';

/** The largest record, in bytes. */
const RECORD_LIMIT = 1024 * 1024;
/** So many accounts are inserted with one command, and so many commands are under way. */
const BATCH = 500;
const CONCURRENCY = 2;

/** The outcome of an account that was not created with the id that it has in the file. */
export type Outcome = {
  /** Where it is in the file: lines are counted from 1, and the elements of lists from 0. */
  line?: number;
  index?: number;
  status: 'created' | 'unchanged' | 'refused';
  id?: string;
  /** Its id in the file, where that could not be kept. */
  source_id?: string | undefined;
  username?: string;
  email?: string;
  reason?: string;
};

/** An account, and its place in the file. */
type Entry = ReturnType<typeof importedAccount> & { at: number };

/**
 * Imports the accounts of a file, and reports those that are refused or get another id. An account whose id is there already is
 * left as it is, so that an import that was interrupted is repeated to complete it. Throws `invalid` when the file cannot be read on.
 *
 * @param options.from the name of the program
 * @param options.tally is counted up
 */
export async function importUsers(options: {
  store: Pick<UserStore, 'findKnown' | 'insertFree' | 'findTaken'>;
  from: string;
  source: Source;
  file: AsyncIterable<Buffer>;
  report(outcome: Outcome): Promise<void>;
  tally: Record<'read' | Outcome['status'], number>;
}): Promise<void> {
  const { store, from, source, file, report, tally } = options;
  const { list: name } = source;

  async function settle(at: number, outcome: Outcome): Promise<void> {
    tally.read += 1;
    tally[outcome.status] += 1;
    if (outcome.status === 'refused' || outcome.source_id !== undefined)
      await report({ [name === undefined ? 'line' : 'index']: at, ...outcome });
  }

  function refuse(at: number, error: ServiceError, named: unknown): Promise<void> {
    const reason = error.message.replace(/^The body/, 'The account');
    return settle(at, { status: 'refused', ...namesIn(named), reason });
  }

  const settleKnown = (status: 'created' | 'unchanged', { at, id, sourceId }: Entry) =>
    settle(at, { status, id, source_id: sourceId === id ? undefined : sourceId });

  /** The accounts of records that can be read; the others are refused. */
  async function* batches() {
    const limit = RECORD_LIMIT;
    let at = name === undefined ? 0 : -1;
    let batch: Entry[] = [];
    for await (const bytes of name === undefined
      ? splitLines(file, limit)
      : jsonElements(file, { name, limit })) {
      at += 1;
      if (bytes !== undefined && isBlank(bytes)) continue;
      let record: unknown;
      try {
        if (bytes === undefined)
          throw new ServiceError('too_large', `The account takes more than ${limit} bytes.`);
        record = parseJsonBody(bytes);
        batch.push({ at, ...importedAccount(from, source.read(record)) });
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        await refuse(at, error, record);
      }
      if (batch.length < BATCH) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  }

  async function insert(entries: readonly Entry[], attempt = 0): Promise<void> {
    const known = await store.findKnown(entries.map(({ id }) => id));
    const fresh: Entry[] = [];
    for (const entry of entries) {
      const { at, id, draft, sourceId = id } = entry;
      if (known.has(id)) await settleKnown('unchanged', entry);
      else if (attempt === 0) fresh.push(entry);
      else {
        // A derived username may have been taken, or what was taken may be free again.
        const [taken = attempt < MAX_DERIVATIONS ? undefined : 'username'] = await store.findTaken(draft);
        if (taken === undefined) fresh.push(entry);
        else await refuse(at, new TakenError(taken), { ...draft, id: sourceId });
      }
    }
    if (fresh.length === 0) return;
    const inserted = await store.insertFree(
      fresh.map(({ id, draft, createdAt, passwordHash }) => {
        const username = draft.username ?? derivedUsername(draft, attempt);
        return { ...newUserRecord(draft, { id, username, createdAt }), passwordHash };
      }),
    );
    for (const [i, entry] of fresh.entries()) if (inserted[i]) await settleKnown('created', entry);
    const again = fresh.filter((_, i) => !inserted[i]);
    if (again.length > 0) await insert(again, attempt + 1);
  }

  const reading = Readable.from(batches(), { highWaterMark: 1 });
  await reading.forEach(async (batch: Entry[]) => void (await insert(batch)), { concurrency: CONCURRENCY });
}

/** By what somebody finds an account again that was refused. */
function namesIn(record: unknown): Pick<Outcome, 'source_id' | 'username' | 'email'> {
  const { id, user_id, localId, _id, username, email } = Object(record) as Record<string, unknown>;
  const names = { source_id: id ?? user_id ?? localId ?? Object(_id).$oid, username, email };
  return Object.fromEntries(
    Object.entries(names).flatMap(([name, it]) =>
      typeof it === 'string' && it !== '' ? [[name, it.slice(0, 300)]] : [],
    ),
  );
}
