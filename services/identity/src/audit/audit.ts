import { createHmac } from 'node:crypto';
import { foldedKey } from '@gatehouse/kit/folded-key';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/logger';
import { createPeriodicTask } from '@gatehouse/kit/periodic';
import { requestInfo } from '@gatehouse/kit/requests';
import type { Context } from 'koa';

/** What is so frequent, or so little, that it is written in batches, a moment later. */
const WRITTEN_LATER = [
  'sign_in.succeeded',
  'sign_in.failed',
  'sign_out',
  'session.ended',
  'consent.refused',
  'token.revoked',
] as const;
/** What gives somebody power or takes it away: written before the answer. */
const WRITTEN_FIRST = [
  'account.created',
  'account.changed',
  'account.deleted',
  'password.changed',
  'email.verified',
  'consent.granted',
  'grant.revoked',
  'application.created',
  'application.changed',
  'application.deleted',
  'secret.added',
  'secret.removed',
  'api_key.created',
  'api_key.rotated',
  'api_key.revoked',
  'keys.rotated',
] as const;

export type AuditAction = (typeof WRITTEN_LATER)[number] | (typeof WRITTEN_FIRST)[number];

/** Where a request came from. */
export type Origin = { address: string; userAgent: string | undefined; requestId: string };

export type AuditEntry = {
  action: AuditAction;
  /** Undefined for what no request asked for. */
  origin?: Origin;
  /** The person it is about, or who did it. */
  subject?: string;
  /** The client_id through which, or to which, it was done. */
  client?: string;
  /** What somebody gave as a name; kept only as a hash, as people type passwords there. */
  login?: string;
  /** More about it, in fields of plain values. Never a secret. */
  details?: Readonly<Record<string, unknown>>;
};

/** An entry as it is kept. */
export type AuditRecord = Omit<AuditEntry, 'login'> & {
  id: string;
  loginHash?: string;
  at: Date;
  expiresAt: Date;
};

export type AuditStore = {
  collection: string;
  /** Durable when it resolves. */
  insert(record: AuditRecord): Promise<void>;
  /** As many as get there; cheaper, and after a crash of the database the last moments may be missing. */
  insertMany(records: readonly AuditRecord[]): Promise<void>;
  /** Of one person or one client or of all, the latest first, those before the one with the id `before`. */
  list(query: {
    by?: { subject: string } | { client: string };
    before?: string;
    limit: number;
  }): Promise<AuditRecord[]>;
};

export type Audit = {
  /**
   * Writes down who did what, when, from where. What grants or takes power is durable when this resolves, and it
   * rejects when it cannot be; the rest follows within a second, and never keeps anybody from signing in.
   */
  record(entry: AuditEntry): Promise<void>;
  /** Writes what is still waiting. */
  stop(): Promise<void>;
};

const BATCH_MS = 250;
/** More than that waiting means that the database is away or cannot keep up. */
const MAX_WAITING = 10_000;
const MAX_USER_AGENT = 200;
const DAY_MS = 86_400_000;

/** The audit log. `key` is for hashing login names. */
export function createAudit(options: {
  store: AuditStore;
  key: Buffer;
  keepDays: number;
  logger: Logger;
}): Audit {
  const { store, key, keepDays, logger } = options;
  let waiting: AuditRecord[] = [];
  let lost = 0;
  const writer = createPeriodicTask({
    run: flush,
    everyMs: BATCH_MS,
    onError: (error) => logger.error({ err: error }, 'the audit log could not be written'),
  });

  function toRecord({ login, ...entry }: AuditEntry): AuditRecord {
    const at = new Date();
    return {
      ...entry,
      id: newId('aud'),
      ...(login === undefined ? {} : { loginHash: hashLogin(key, login) }),
      at,
      expiresAt: new Date(at.getTime() + keepDays * DAY_MS),
    };
  }

  async function flush(): Promise<void> {
    const batch = waiting;
    waiting = [];
    if (lost > 0) logger.error({ lost }, 'entries of the audit log were lost');
    lost = 0;
    if (batch.length === 0) return;
    await store.insertMany(batch).catch((error: unknown) => {
      logger.error({ err: error, lost: batch.length }, 'entries of the audit log were lost');
    });
  }

  function writeLater(record: AuditRecord): void {
    if (waiting.length < MAX_WAITING) waiting.push(record);
    else lost += 1;
    writer.start();
  }

  const later: ReadonlySet<string> = new Set(WRITTEN_LATER);
  return {
    async record(entry) {
      if (later.has(entry.action)) writeLater(toRecord(entry));
      else await store.insert(toRecord(entry));
    },
    async stop() {
      await writer.stop();
      await flush();
    },
  };
}

/** Where a request came from, for the audit log. */
export function originOf(ctx: Context): Origin {
  const { id, address } = requestInfo(ctx.req);
  const userAgent = ctx.get('user-agent').slice(0, MAX_USER_AGENT);
  return { address, userAgent: userAgent === '' ? undefined : userAgent, requestId: id };
}

/** With a key, as a password that was typed for a name could be guessed from a bare hash. */
export function hashLogin(key: Buffer, login: string): string {
  return createHmac('sha256', key)
    .update(`login ${foldedKey(login)}`)
    .digest('base64url');
}
