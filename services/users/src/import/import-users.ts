import { parseJsonBody } from '@gatehouse/api/http/json-body';
import { isBlank } from '@gatehouse/api/http/lines';
import { ServiceError } from '@gatehouse/core/errors';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { derivedUsername, MAX_DERIVATIONS } from '../derived-username.ts';
import { newUserRecord } from '../new-user.ts';
import { TakenError, type UserStore } from '../user.ts';
import { type ImportedAccount, RECORD_LIMIT, type Source } from './source.ts';

/** So many accounts, or bytes of them, are inserted with one command, and so many commands are under way. */
const BATCH = { accounts: 500, bytes: 4 * 1024 * 1024 };
const CONCURRENCY = 2;

/** What became of an account that was not created with the id that it has in the file. */
export type Outcome = {
  /** Where it is in the file. */
  line?: number;
  index?: number;
  status: 'created' | 'unchanged' | 'refused';
  id?: string;
  /** Its id in the file, where that could not be kept. */
  source_id?: string;
  username?: string;
  email?: string;
  reason?: string;
};

export type Tally = Record<'read' | Outcome['status'], number>;

type Entry = { at: number; account: ImportedAccount };

/**
 * Imports the accounts of a file, and reports those that are refused or get another id. An account whose id is there already is
 * left as it is, so that an import that was interrupted is repeated to complete it. Throws `invalid` when the file cannot be read on.
 *
 * @param options.onProgress is called after each batch with what has been done until then
 */
export async function importUsers(options: {
  store: Pick<UserStore, 'findKnown' | 'insertFree' | 'findTaken'>;
  source: Source;
  file: AsyncIterable<Buffer>;
  report(outcome: Outcome): Promise<void>;
  onProgress?(tally: Tally): void;
}): Promise<Tally> {
  const { store, source, file, report, onProgress } = options;
  const tally: Tally = { read: 0, created: 0, unchanged: 0, refused: 0 };

  async function settle(at: number, outcome: Omit<Outcome, 'line' | 'index'>): Promise<void> {
    tally.read += 1;
    tally[outcome.status] += 1;
    if (outcome.status === 'refused' || outcome.source_id !== undefined)
      await report({ [source.place]: at, ...outcome });
  }

  const refuse = (at: number, error: ServiceError, named: unknown) =>
    settle(at, {
      status: 'refused',
      ...namesIn(named),
      reason: error.message.replace(/^The body/, 'The account'),
    });

  const settleKnown = (status: 'created' | 'unchanged', { at, account: { id, sourceId } }: Entry) =>
    settle(at, { status, id, ...(sourceId === undefined ? {} : { source_id: sourceId }) });

  /** The accounts of records that can be read; the others are refused. */
  async function readBatch(batch: readonly { at: number; bytes: Buffer | undefined }[]): Promise<Entry[]> {
    const entries: Entry[] = [];
    for (const { at, bytes } of batch) {
      let record: unknown;
      try {
        if (bytes === undefined)
          throw new ServiceError('too_large', `The account takes more than ${RECORD_LIMIT} bytes.`);
        record = parseJsonBody(bytes);
        entries.push({ at, account: source.read(record) });
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        await refuse(at, error, record);
      }
    }
    return entries;
  }

  /** Why an account could not be inserted; undefined if its derived username is taken, or nothing is any more. */
  async function takenBy({ draft: { username, email } }: ImportedAccount): Promise<TakenError | undefined> {
    const [field] = await store.findTaken(omitUndefined({ username, email }));
    return field && new TakenError(field);
  }

  async function insert(entries: readonly Entry[], attempt = 0): Promise<void> {
    const known = await store.findKnown(entries.map(({ account }) => account.id));
    const fresh: Entry[] = [];
    for (const entry of entries) {
      if (known.has(entry.account.id)) await settleKnown('unchanged', entry);
      else fresh.push(entry);
    }
    if (fresh.length === 0) return;
    const records = fresh.map(({ account: { id, draft, createdAt, passwordHash } }) => {
      const username = draft.username ?? derivedUsername(draft, attempt);
      return { ...newUserRecord(draft, { id, username, createdAt }), passwordHash };
    });
    const inserted = await store.insertFree(records);
    const again: Entry[] = [];
    for (const [i, entry] of fresh.entries()) {
      if (inserted[i]) {
        await settleKnown('created', entry);
        continue;
      }
      const { id, sourceId = id, draft } = entry.account;
      const taken = (await store.findKnown([id])).has(id) ? undefined : await takenBy(entry.account);
      if (taken === undefined && attempt + 1 < MAX_DERIVATIONS) again.push(entry);
      else await refuse(entry.at, taken ?? new TakenError('username'), { ...draft, id: sourceId });
    }
    if (again.length > 0) await insert(again, attempt + 1);
  }

  const batches = inBatches(source.split(file), source.place === 'line' ? 1 : 0);
  async function work(): Promise<void> {
    for (;;) {
      const { value: batch, done } = await batches.next();
      if (done === true) return;
      const entries = await readBatch(batch);
      if (entries.length > 0) await insert(entries);
      onProgress?.(tally);
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return tally;
}

async function* inBatches(records: AsyncIterable<Buffer | undefined>, first: number) {
  let batch: { at: number; bytes: Buffer | undefined }[] = [];
  let at = first;
  let size = 0;
  for await (const bytes of records) {
    if (bytes === undefined || !isBlank(bytes)) batch.push({ at, bytes });
    at += 1;
    size += bytes?.length ?? 0;
    if (batch.length < BATCH.accounts && size < BATCH.bytes) continue;
    yield batch;
    [batch, size] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

/** By what somebody finds an account again that was refused. */
function namesIn(record: unknown): Pick<Outcome, 'source_id' | 'username' | 'email'> {
  const { id, user_id, localId, _id, username, email } = Object(record) as Record<string, unknown>;
  const sourceId = [id, user_id, localId, Object(_id).$oid].find((value) => typeof value === 'string');
  const texts = { source_id: sourceId, username, email };
  return Object.fromEntries(
    Object.entries(texts).flatMap(([name, value]) =>
      typeof value === 'string' && value !== '' ? [[name, value.slice(0, 300)]] : [],
    ),
  );
}
