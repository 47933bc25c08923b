import { bodyValidator } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import type { AuditAction } from '@gatehouse/domain/audit-actions';
import type { Caller } from '@gatehouse/tokens/caller';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { Notices } from '../../core/accounts/notices.ts';
import { type Audit, entryOfRequest, REPORTED_ACTIONS } from '../../core/audit/audit.ts';
import type { Revocations } from '../../core/revocations/revocations.ts';
import type { SecondFactors } from '../../core/sessions/second-factors.ts';
import { createInternalRouter } from '../../http/internal-router.ts';
import { readJson } from '../../http/request-body.ts';
import type { ApplicationNames } from './application-names.ts';
import type { Credential } from './credential-state.ts';
import type { Delegations } from './delegations.ts';
import type { OwnedApplications } from './owned-applications.ts';
import { webhookNotice } from './webhook-notices.ts';

const readDelegated = bodyValidator(Type.Object({ credential: Type.String() }));
const readPerson = bodyValidator(Type.Object({ user_id: Type.String({ maxLength: 254 }) }));
const readOwners = bodyValidator(
  Type.Object({ ids: Type.Array(Type.String({ maxLength: 254 }), { maxItems: 100 }) }),
);
const readHandle = bodyValidator(Type.Object({ handle: Type.String() }));
/** More than one response of analytics has. */
const MAX_NAMES = 100;
const readNamed = bodyValidator(
  Type.Object({
    handle: Type.String(),
    client_ids: Type.Array(Type.String({ maxLength: 254 }), { maxItems: MAX_NAMES }),
  }),
);

/** As newId makes it: the entry of the audit log gets the same time and random part. */
const EventId = Type.String({ pattern: '^evt_[0-9a-hjkmnp-tv-z]{26}$' });
const By = Type.Object({
  user_id: Type.Union([Type.String(), Type.Null()]),
  client_id: Type.String(),
  actors: Type.Optional(Type.Array(Type.String())),
  address: Type.String(),
  user_agent: Type.Union([Type.String(), Type.Null()], { default: null }),
  request_id: Type.String(),
  applied: Type.Optional(Type.Object({ file: Type.String(), commit: Type.Optional(Type.String()) })),
});
const AccountChange = Type.Object({
  id: EventId,
  user_id: Type.String(),
  epoch: Type.Integer(),
  sign_in_epoch: Type.Integer(),
  reason: Type.String(),
  details: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  previous_email: Type.Optional(Type.String()),
  previous_username: Type.Optional(Type.String()),
  restorable: Type.Optional(Type.Boolean()),
  given_back: Type.Optional(Type.Boolean()),
  by: Type.Optional(By),
});
const readChange = bodyValidator(AccountChange);
export type AccountChange = Type.Static<typeof AccountChange>;

/** As many as are looked up well within the time that the one who asks waits. */
const MAX_CREDENTIALS = 50;
const readCredentials = bodyValidator(
  Type.Object({
    credentials: Type.Array(
      Type.Object({
        client_id: Type.String(),
        user_id: Type.String(),
        grant_id: Type.Union([Type.String(), Type.Null()]),
        key_id: Type.Optional(Type.Union([Type.String(), Type.Null()])),
        epoch: Type.Object({ client: Type.Integer(), subject: Type.Integer() }),
      }),
      { maxItems: MAX_CREDENTIALS },
    ),
  }),
);

/** The object of an action. Nothing else gets into the audit log from there. */
const QueueDetails = Type.Object(
  {
    queue: Type.String(),
    lane: Type.Optional(Type.String()),
    lanes: Type.Optional(Type.Array(Type.String())),
    ids: Type.Optional(Type.Array(Type.String())),
    number: Type.Optional(Type.Integer()),
  },
  { additionalProperties: false },
);
const WebhookDetails = Type.Object(
  {
    webhook: Type.String(),
    host: Type.Optional(Type.String()),
    events: Type.Optional(Type.Array(Type.String())),
    status: Type.Optional(Type.String()),
    reason: Type.Optional(Type.String()),
    /** The member of the application whose credential made it. */
    given_by: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);
const readAction = bodyValidator(
  Type.Object({
    id: EventId,
    action: Type.Unsafe<AuditAction>({ type: 'string', enum: REPORTED_ACTIONS }),
    details: Type.Union([QueueDetails, WebhookDetails]),
    by: By,
    /** The person to whom a webhook belongs. */
    subject: Type.Optional(Type.String()),
  }),
);

/**
 * The requests of the other services to identity. Every other service may list revocations; only users
 * may report account changes and deleted people, and only notifications report what is done to queues and webhooks, read on a caller's behalf, and ask
 * who owns which application, how applications are called and which credentials of people have ended (see SERVICES in core). The
 * edge does not route any of it.
 */
export function internalRoutes(options: {
  /** Takes tokens for identity's internal audience only. */
  authenticate(ctx: Context): Promise<Caller>;
  revocations: Pick<Revocations, 'list'>;
  /** Verifies the value of an Authorization header, but no proof; throws `unauthenticated`. */
  verifyCredential(authorization: string): Promise<Caller>;
  delegations: Delegations;
  applicationNames: ApplicationNames;
  /** Rejects when that cannot be found out. */
  isInForce(credential: Credential): Promise<boolean>;
  /** Durable when it resolves; the same change may come again. */
  accountChanged(change: AccountChange): Promise<void>;
  /** Requests the erasure of a deleted person's data in identity. Durable when it resolves, and repeatable. */
  requestErasure(userId: string): Promise<void>;
  notices: Pick<Notices, 'reported'>;
  audit: Pick<Audit, 'record'>;
  secondFactors: Pick<SecondFactors, 'of'>;
  ownedApplications(owner: string): Promise<OwnedApplications>;
}): Router {
  const { revocations } = options;
  const router = createInternalRouter(options.authenticate);
  router.get('/revocations', async (ctx) => {
    const { since } = ctx.query;
    ctx.body = await revocations.list(typeof since === 'string' ? since : undefined);
  });
  router.post('/delegations', async (ctx) => {
    const { credential } = readDelegated(await readJson(ctx));
    const caller = await options.verifyCredential(credential).catch((error: unknown) => {
      // 401 would say that the service itself is not who it says.
      const isInvalid = error instanceof ServiceError && error.kind === 'unauthenticated';
      throw isInvalid ? new ServiceError('not_found', 'The credential is not valid any more.') : error;
    });
    ctx.status = 201;
    ctx.body = { handle: await options.delegations.create(caller, serviceOf(ctx)) };
  });
  router.post('/delegations/token', async (ctx) => {
    const { handle } = readHandle(await readJson(ctx));
    const token = await options.delegations.token(handle, serviceOf(ctx));
    if (token === undefined) throw noDelegation();
    ctx.body = { access_token: token.value, expires_in: token.lifetime };
  });
  router.post('/delegations/application-names', async (ctx) => {
    const { handle, client_ids: ids } = readNamed(await readJson(ctx));
    const delegation = await options.delegations.find(handle, serviceOf(ctx));
    if (delegation === undefined) throw noDelegation();
    ctx.body = { names: await options.applicationNames(delegation, ids) };
  });
  router.post('/ended-credentials', async (ctx) => {
    const { credentials } = readCredentials(await readJson(ctx));
    const ended = async (it: (typeof credentials)[number]) =>
      !(await options.isInForce({
        clientId: it.client_id,
        person: { id: it.user_id },
        grantId: it.grant_id ?? undefined,
        keyId: it.key_id ?? undefined,
        epoch: it.epoch,
      }));
    ctx.body = { ended: await Promise.all(credentials.map(ended)) };
  });
  router.post('/account-changes', async (ctx) => {
    await options.accountChanged(readChange(await readJson(ctx)));
    ctx.status = 204;
  });
  router.post('/erasures', async (ctx) => {
    await options.requestErasure(readPerson(await readJson(ctx)).user_id);
    ctx.status = 204;
  });
  router.post('/second-factors', async (ctx) => {
    const factors = await options.secondFactors.of(readPerson(await readJson(ctx)).user_id);
    ctx.body = { required: factors.length > 0 };
  });
  router.post('/queue-actions', async (ctx) => {
    const reported = readAction(await readJson(ctx));
    const { id: event, action, details, by, subject } = reported;
    await options.audit.record({
      action,
      event,
      ...entryOfRequest(by, details),
      ...(subject && { subject }),
    });
    const notice = webhookNotice(reported);
    if (subject !== undefined && notice !== undefined) await options.notices.reported(notice, subject, event);
    ctx.status = 204;
  });
  router.post('/owned-applications', async (ctx) => {
    const { ids } = readOwners(await readJson(ctx));
    ctx.body = { owners: await Promise.all(ids.map(options.ownedApplications)) };
  });
  return router;
}

const noDelegation = () => new ServiceError('not_found', 'There is no such delegation any more.');

/** The service that asks. */
const serviceOf = (ctx: Context) => String(ctx.state.service);
