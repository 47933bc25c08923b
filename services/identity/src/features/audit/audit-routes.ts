import type { ConcurrencyLimit } from '@gatehouse/api/http/concurrency-limit';
import { createListEndpoint } from '@gatehouse/api/lists/list-endpoint';
import { cursorEnvelope } from '@gatehouse/api/lists/paging';
import { listOf, ok, shape } from '@gatehouse/api/openapi/shapes';
import { ServiceError } from '@gatehouse/core/errors';
import { AUDIT_ACTIONS } from '@gatehouse/domain/audit-actions';
import type { Condition, KeysetPage, ListSource } from '@gatehouse/domain/list-query';
import { narrowList } from '@gatehouse/domain/narrow-list';
import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import { Type } from 'typebox';
import {
  APPLICATION_ACTIONS,
  type AuditField,
  type AuditRecord,
  type AuditStore,
} from '../../core/audit/audit.ts';
import type { Api } from '../../http/api.ts';
import { requireFirstParty, requireFirstPartyAdmin } from '../../http/first-party.ts';
import { personApi } from '../../http/person-api.ts';

/** Entries that one query of a person's activity reads. */
const ACTIVITY_PAGE = 500;

const ACTIONS = Object.keys(AUDIT_ACTIONS);
export const AUDIT_PATH = '/api/v1/audit';

const OrNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

/** An entry as the API returns it. */
const AuditEntryView = Type.Object({
  id: Type.String(),
  action: Type.String({ enum: ACTIONS }),
  created_at: Type.String({ format: 'date-time' }),
  actor: OrNull('The id of the acting person; null if there was none, or only a program.'),
  subject: OrNull('The id of the affected person.'),
  client: OrNull('The client_id of the application that was used or affected.'),
  address: OrNull('The IP address of the request.'),
  user_agent: OrNull('The User-Agent header of the request, or its first 200 characters.'),
  request_id: OrNull('The id of the request in the logs.'),
  details: Type.Unsafe<Readonly<Record<string, unknown>>>({
    type: 'object',
    additionalProperties: true,
    description:
      'Details that depend on the action: `from` and `to` of a role or status, `fields` that changed, `queue` and `lane`. ' +
      'No name or email address of a person, and no secret.',
  }),
});

const auditEntryShape = shape('AuditEntry', AuditEntryView, {
  id: 'aud_01m7g9w2k0000c4v8x3r6t5n1z',
  action: 'account.changed',
  created_at: '2026-11-02T09:30:00.000Z',
  actor: 'usr_01m7g9v7d0000a3b9e5k2m8p4q',
  subject: 'usr_01m7g9x1h0000d6w2y8s4v7r3t',
  client: 'gatehouse-login',
  address: '192.0.2.1',
  user_agent: 'curl/8.5.0',
  request_id: 'req_01',
  details: { change: 'role', from: 'user', to: 'editor' },
});

/** An entry with the names of the API. */
function entryView({ id, action, at, actor, subject, client, origin, details }: AuditRecord) {
  return {
    id,
    action,
    created_at: at,
    actor: actor ?? null,
    subject: subject ?? null,
    client: client ?? null,
    address: origin?.address ?? null,
    user_agent: origin?.userAgent ?? null,
    request_id: origin?.requestId ?? null,
    details: details ?? {},
  };
}

const equality = { type: 'string', operators: ['eq', 'in'] } as const;

/** The list of the audit log, the latest entry first. */
export const auditEndpoint = createListEndpoint<AuditField, AuditRecord>({
  rules: {
    path: AUDIT_PATH,
    paging: 'cursor',
    order: { field: 'id', descending: true },
    filters: {
      action: { field: 'action', ...equality, values: ACTIONS },
      actor: { field: 'actor', ...equality },
      subject: { field: 'subject', ...equality },
      client: { field: 'client', ...equality },
      address: { field: 'address', ...equality },
      created_at: { field: 'at', type: 'date', operators: ['gte', 'gt', 'lte', 'lt'] },
    },
  },
  envelope: cursorEnvelope,
  item: { schema: AuditEntryView, write: (record) => JSON.stringify(entryView(record)) },
});

const MAX_PEOPLE = 100;
const LastSignInsQuery = Type.Object({
  user_id: Type.String({
    minLength: 1,
    maxLength: MAX_PEOPLE * 64,
    examples: ['usr_01m7g9v7d0000a3b9e5k2m8p4q'],
    description: `The ids of at most ${MAX_PEOPLE} people, separated by commas.`,
  }),
});
/** When somebody last signed in, as the API returns it. */
const LastSignInView = Type.Object({
  user_id: Type.String(),
  signed_in_at: Type.String({ format: 'date-time' }),
});

const lastSignInShape = shape('LastSignIn', LastSignInView, {
  user_id: 'usr_01m7g9v7d0000a3b9e5k2m8p4q',
  signed_in_at: '2026-11-02T09:30:00.000Z',
});

/** The log as the owner or a member sees it: entries about their applications, and the address only of their own actions. */
function ofOwner(
  source: ListSource<AuditField, AuditRecord>,
  person: { id: string },
  visibleTo: (userId: string) => Promise<readonly string[]>,
): ListSource<AuditField, AuditRecord> {
  const narrow = async (conditions: readonly Condition<AuditField>[]): Promise<Condition<AuditField>[]> => {
    if (conditions.some(({ field }) => field === 'address')) {
      throw new ServiceError('forbidden', 'The addresses in the audit log are for admins only.');
    }
    const own = await visibleTo(person.id);
    return [
      ...conditions,
      { field: 'client', operator: 'in', values: own },
      { field: 'action', operator: 'in', values: APPLICATION_ACTIONS },
    ];
  };
  return narrowList(source, narrow, ({ origin, ...entry }) =>
    origin !== undefined && entry.actor === person.id ? { ...entry, origin } : entry,
  );
}

/**
 * /api/v1/audit: who did what, to whom and what, when and from where, for admins; for others, what was done to their applications.
 * Errors are thrown.
 */
export function auditRoutes(options: {
  authenticate(ctx: Context): Promise<Caller>;
  store: Pick<AuditStore, 'list' | 'lastSignIns'>;
  applications: { visibleTo(userId: string): Promise<readonly string[]> };
  concurrency: ConcurrencyLimit;
}): Api {
  const { store, concurrency } = options;
  const api = personApi(AUDIT_PATH, options.authenticate, 'The entries of the audit log', (caller, subject) =>
    requireFirstParty(caller, subject, 'are for people'),
  );

  api.list('list', '/', {
    summary: 'List the audit log',
    description:
      'Changes of accounts, applications, keys and queues, and sign-ins, with person, time and address; the latest entry first. ' +
      'For people who are no admins, the changes of their own applications, without the addresses of others.',
    page: { name: 'AuditPage', description: 'A page of the log.', row: auditEntryShape },
    endpoint: auditEndpoint,
    read: ({ caller, person }) => ({
      source:
        person.role === 'admin' ? store.list : ofOwner(store.list, person, options.applications.visibleTo),
      limited: (work) => concurrency.run(caller, work),
    }),
  });

  api.get('list_last_sign_ins', '/last-sign-ins', {
    summary: 'List the last sign-ins of people',
    description:
      'For admins. Sign-ins in browsers and logins by the API, as far back as the audit log goes; people who have not signed in since are not in the response.',
    query: LastSignInsQuery,
    responses: ok('The last sign-in of each person.', listOf('LastSignIns', lastSignInShape)),
    async handle({ caller, query }) {
      requireFirstPartyAdmin(caller, 'The last sign-ins');
      const userIds = [...new Set(query.user_id.split(','))];
      if (userIds.length > MAX_PEOPLE) {
        throw new ServiceError('invalid', `Ask for at most ${MAX_PEOPLE} people.`, {
          details: [{ field: 'user_id', message: `must name at most ${MAX_PEOPLE} people` }],
        });
      }
      const times = await concurrency.run(caller, () => store.lastSignIns(userIds));
      return { data: [...times].map(([user_id, signed_in_at]) => ({ user_id, signed_in_at })) };
    },
  });
  return api;
}

/** The entries of the audit log about a person, the latest first; where from only if it was the person who acted. */
export function activityOf(store: Pick<AuditStore, 'list'>) {
  return async function* ({ id }: { id: string }) {
    const query = {
      conditions: [{ field: 'subject', operator: 'eq', values: [id] }],
      sort: { field: 'id', descending: true },
    } as const;
    for (let more = true, from: KeysetPage['from']; more; ) {
      const page = await store.list.byKeyset(query, {
        limit: ACTIVITY_PAGE,
        ...(from === undefined ? {} : { from }),
      });
      for (const { origin, ...entry } of page.items) {
        yield entryView(origin !== undefined && entry.actor === id ? { ...entry, origin } : entry);
      }
      more = page.hasNext && page.last !== undefined;
      if (page.last !== undefined) from = { position: page.last, direction: 'next', inclusive: false };
    }
  };
}
