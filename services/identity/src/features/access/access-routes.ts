import { bodyValidator } from '@gatehouse/api/http/schema';
import { listOf, ok, shape } from '@gatehouse/api/openapi/shapes';
import { ServiceError } from '@gatehouse/core/errors';
import type { Caller } from '@gatehouse/tokens/caller';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { Account, Accounts } from '../../core/accounts/account.ts';
import type { Authority } from '../../core/authority/authority.ts';
import { AUTHORITY, OUTCOMES } from '../../core/authority/authority-table.ts';
import {
  type AccessSource,
  keepAccess,
  listAccess,
  outcomeOf,
  type StandingAccess,
} from '../../core/authority/standing-access.ts';
import type { Api } from '../../http/api.ts';
import { createInternalRouter } from '../../http/internal-router.ts';
import { personApi, userParameter } from '../../http/person-api.ts';
import { readJson } from '../../http/request-body.ts';

const Text = Type.Union([Type.String(), Type.Null()]);
const Time = Type.Union([Type.String({ format: 'date-time' }), Type.Null()]);
const accessShape = shape(
  'StandingAccess',
  Type.Object({
    id: Type.String(),
    kind: Type.String({ enum: Object.keys(AUTHORITY) }),
    name: Text,
    client_id: Text,
    effect: Type.Union([Type.String({ enum: [...OUTCOMES] }), Type.Null()], {
      description: 'The effect of a revocation of all access on it.',
    }),
    can_be_kept: Type.Boolean({ description: 'Whether a revocation can keep it, by naming it in `except`.' }),
    made_by: Type.Union([Type.String(), Type.Null()], {
      description:
        'The id of the user who made a credential, or added a member. A credential that a member made can be kept only with the member.',
    }),
    created_at: Time,
    last_used_at: Time,
  }),
  {
    ...{ id: 'key_01m7g9w2k0000c4v8x3r6t5n1z', kind: 'api_key', name: 'Nightly run' },
    ...{ client_id: 'app_01m7g9w2k0000c4v8x3r6t5n1z', effect: 'ends', can_be_kept: true },
    made_by: 'usr_01m7g9x1h0000d6w2y8s4v7r3t',
    ...{ created_at: '2026-11-02T09:30:00.000Z', last_used_at: null },
  },
);
const view = (it: StandingAccess & { canBeKept: boolean }) => ({
  ...{ id: it.id, kind: it.kind, name: it.name, client_id: it.clientId },
  ...{ effect: outcomeOf(it.kind, 'everything_ended') ?? null, can_be_kept: it.canBeKept },
  made_by: it.madeBy ?? null,
  ...{ created_at: it.createdAt, last_used_at: it.lastUsedAt },
});

/** GET /api/v1/access: everything that acts for a person. Errors are thrown. */
export function accessRoutes(options: {
  authenticate(ctx: Context): Promise<Caller>;
  accounts: Pick<Accounts, 'find'>;
  sources: readonly AccessSource<Account>[];
}): Api {
  const api = personApi('/api/v1/access', options.authenticate, 'Access');
  const user = userParameter(options.accounts, {
    description: 'By default the caller. Only admins may name another user.',
    forbidden: 'Only admins can see the access of other users.',
  });
  api.get('list', '/', {
    summary: 'List what acts for a person',
    description:
      'Sessions, logins, consents, credentials and members of applications, and registration tokens, with what ' +
      'the user made in applications of others, and what `POST /api/v1/users/{user_id}/revocations` does to each.',
    query: user.query,
    responses: ok('The access that the person has given.', listOf('StandingAccessList', accessShape)),
    kinds: ['not_found'],
    async handle({ person, query }) {
      const account = await user.accountOf(person, query);
      return { data: (await listAccess(options.sources, account)).map(view) };
    },
  });
  return api;
}

const readKept = bodyValidator(
  Type.Object({
    user_id: Type.String({ maxLength: 254 }),
    ids: Type.Array(Type.String({ maxLength: 254 }), { maxItems: 500 }),
  }),
);

/**
 * POST /internal/identity/kept-access: the users service calls this before it revokes all access of a person. Kept entries get the stamp of
 * the epochs after the revocation.
 */
export function keptAccessRoutes(options: {
  authenticate(ctx: Context): Promise<Caller>;
  accounts: Pick<Accounts, 'find'>;
  authority: Pick<Authority, 'givenBy'>;
  sources: readonly AccessSource<Account>[];
}): Router {
  return createInternalRouter(options.authenticate).post('/kept-access', async (ctx) => {
    const { user_id: userId, ids } = readKept(await readJson(ctx));
    const account = await options.accounts.find(userId);
    if (account === undefined) throw new ServiceError('invalid', 'There is no such user.');
    await keepAccess(options, account, ids);
    ctx.status = 204;
  });
}
