import { createHmac } from 'node:crypto';
import { endDryRun } from '@gatehouse/core/dry-run';
import { newId, timeOfId } from '@gatehouse/core/ids';
import type { Logger } from '@gatehouse/core/logger';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import { AUDIT_ACTIONS, type AuditAction } from '@gatehouse/domain/audit-actions';
import { loginKey } from '@gatehouse/domain/folded-key';
import type { ListSource } from '@gatehouse/domain/list-query';
import type { AppliedFile } from '@gatehouse/server/configuration-header';
import { type RequestedBy, requestInfo } from '@gatehouse/server/requests';
import type { Context } from 'koa';

/** Actions so frequent, or of so little weight, that they are written in batches a moment later. */
const BUFFERED = [
  'sign_in.succeeded',
  'sign_in.failed',
  'sign_in.challenged',
  'sign_out',
  'session.ended',
  'consent.refused',
  'token.revoked',
  'token.exchanged',
  'identity_assertion.issued',
  'refresh_token.repeated',
] as const satisfies readonly AuditAction[];
const actionsOn = (...things: string[]) =>
  (Object.keys(AUDIT_ACTIONS) as AuditAction[]).filter((it) => things.includes(it.split('.')[0] ?? ''));
/** The actions that the notifications service reports. */
export const REPORTED_ACTIONS = actionsOn('queue', 'dead_letters', 'webhook');
/** The actions on an application and its credentials, as its owner sees them; its use is not among them. */
export const APPLICATION_ACTIONS = actionsOn(
  ...[
    'application',
    'member',
    'transfer',
    'secret',
    'api_key',
    'webhook',
    'event_stream',
    'federated_credential',
  ],
);

/** Where a request came from. */
export type Origin = {
  address: string;
  userAgent: string | undefined;
  requestId: string;
  /** The configuration file that the request applies. */
  applied?: AppliedFile | undefined;
};

export type AuditEntry = {
  action: AuditAction;
  /**
   * The id of the event by which another service reports it. The entry has the event's time, and is written once, however
   * often the event comes.
   */
  event?: string;
  /** Undefined for an action that no request caused. */
  origin?: Origin;
  /**
   * The person who did it; by default the subject, if a request caused it. Null when it was not a person, or when it is
   * not known who it was.
   */
  actor?: string | null;
  /** The person whom it concerns. */
  subject?: string;
  /** The client_id that it was done through, or to. */
  client?: string;
  /** The login that somebody entered; stored only as a hash, as people type passwords there. */
  login?: string;
  /** Further plain values. Never a secret. */
  details?: Readonly<Record<string, unknown>>;
};

/** An entry as it is stored. */
export type AuditRecord = Omit<AuditEntry, 'login' | 'actor' | 'event'> & {
  /** Its time is `at`. */
  id: string;
  actor?: string;
  loginHash?: string;
  at: Date;
  expiresAt: Date;
  /** The event that other services are told of; absent in what is read. */
  published?: { id: string; subject: string; at: Date; data: Record<string, unknown> };
};

export type AuditStore = {
  collection: string;
  /** Durable when it resolves. An entry that is there already stays as it is. */
  insert(record: AuditRecord): Promise<void>;
  /** Inserts as many as possible. Cheaper, but a crash of the database may lose the last moments. */
  insertMany(records: readonly AuditRecord[]): Promise<void>;
  /** The first entries after an id, in the order of their ids, that wait for the destination. */
  waiting(destination: string, limit: number, after?: string): Promise<AuditRecord[]>;
  /** The entries do not wait for the destination any more. */
  removeMark(destination: string, ids: readonly string[]): Promise<void>;
  list: ListSource<AuditField, AuditRecord>;
  /** When each of these people last signed in, by id; without those who have not, or so long ago that the entry has expired. */
  lastSignIns(userIds: readonly string[]): Promise<ReadonlyMap<string, Date>>;
};

/** The filters of the log. `at` has ranges only; the order is that of the ids, which is that of time. */
export type AuditField = 'id' | 'at' | 'action' | 'actor' | 'subject' | 'client' | 'address';

export type Audit = {
  /** Records who did what, when and from where. Immediate actions are durable when it resolves; others never reject. */
  record(entry: AuditEntry): Promise<void>;
  /** Writes what is still buffered. */
  stop(): Promise<void>;
};

const BATCH_MS = 250;
/** When more are buffered, the database is down or cannot keep up. */
const MAX_BUFFERED = 10_000;
const DAY_MS = 86_400_000;

/** The audit log. `key` is for hashing logins. */
export function createAudit(options: {
  store: AuditStore;
  key: Buffer;
  keepDays: number;
  logger: Logger;
  /** Called with each entry. */
  onRecord?(entry: AuditEntry): void;
  /** The event of an entry, which is stored with it. */
  eventOf?(record: AuditRecord): AuditRecord['published'] | undefined;
  /** Whether entries go elsewhere, too: then buffered actions are written before record() resolves, so that a killed process loses none. */
  isExported?(): boolean;
  /** Called with each that is stored. */
  onStored?(record: AuditRecord): Promise<void>;
}): Audit {
  const { store, key, keepDays, logger } = options;
  let buffer: AuditRecord[] = [];
  let lost = 0;
  const writer = createPeriodicTask({
    run: flush,
    everyMs: BATCH_MS,
    onError: (error) => logger.error({ err: error }, 'the audit log could not be written'),
  });

  function toRecord({ login, actor: named, event, ...entry }: AuditEntry): AuditRecord {
    const id = event === undefined ? newId('aud') : event.replace(/^evt_/, 'aud_');
    const at = timeOfId(id);
    const actor = named === undefined && entry.origin !== undefined ? entry.subject : named;
    const record: AuditRecord = {
      ...entry,
      id,
      ...(entry.origin?.applied && { details: { ...entry.details, ...entry.origin.applied } }),
      ...(actor == null ? {} : { actor }),
      ...(login === undefined ? {} : { loginHash: hashLogin(key, login) }),
      at,
      expiresAt: new Date(at.getTime() + keepDays * DAY_MS),
    };
    const published = options.eventOf?.(record);
    return published === undefined ? record : { ...record, published };
  }

  async function flush(): Promise<void> {
    const batch = buffer;
    buffer = [];
    if (lost > 0) logger.error({ lost }, 'entries of the audit log were lost');
    lost = 0;
    if (batch.length > 0) await write(batch);
  }

  async function write(batch: readonly AuditRecord[]): Promise<void> {
    await store.insertMany(batch).catch((error: unknown) => {
      logger.error({ err: error, lost: batch.length }, 'entries of the audit log were lost');
    });
    for (const record of batch) {
      await options.onStored?.(record).catch((error: unknown) => {
        logger.error({ err: error, id: record.id }, 'a listener of the audit log failed');
      });
    }
  }

  function writeSoon(record: AuditRecord): void {
    if (buffer.length < MAX_BUFFERED) buffer.push(record);
    else lost += 1;
    writer.start();
  }

  const buffered: ReadonlySet<string> = new Set(BUFFERED);
  return {
    async record(entry) {
      // Also of an entry that is written later: by then, the dry run is over.
      endDryRun();
      options.onRecord?.(entry);
      const record = toRecord(entry);
      if (buffered.has(entry.action)) return options.isExported?.() ? write([record]) : writeSoon(record);
      await store.insert(record);
      await options.onStored?.(record);
    },
    async stop() {
      await writer.stop();
      await flush();
    },
  };
}

/** Where a request came from, for the audit log. */
export function originOf(ctx: Context): Origin {
  const { id: requestId, address, userAgent, applied } = requestInfo(ctx.req);
  return { address, userAgent, requestId, applied };
}

/** The fields of an entry that describe a person's request, and the client through which they made it: a deployer acts for an admin. */
export function actedBy(ctx: Context, actor: string): Pick<AuditEntry, 'origin' | 'actor' | 'client'> {
  return { origin: originOf(ctx), actor, ...omitUndefined({ client: requestInfo(ctx.req).client }) };
}

/** The fields of an entry that describe a request to another service. An application that acts for a person is named in the details. */
export function entryOfRequest(
  by: RequestedBy,
  details: NonNullable<AuditEntry['details']>,
): Pick<AuditEntry, 'actor' | 'client' | 'origin' | 'details'> {
  const { user_id: person, client_id: client, actors, user_agent: userAgent, request_id: requestId } = by;
  return {
    client,
    origin: { address: by.address, userAgent: userAgent ?? undefined, requestId, applied: by.applied },
    ...(actors ? { actor: null, details: { ...details, actors } } : { actor: person, details }),
  };
}

/** With a key, as a password typed instead of a login could be guessed from a plain hash. */
export function hashLogin(key: Buffer, login: string): string {
  return createHmac('sha256', key)
    .update(`login ${loginKey(login)}`)
    .digest('base64url');
}
