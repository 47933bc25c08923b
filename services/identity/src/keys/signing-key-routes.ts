import type { Caller } from '@gatehouse/tokens/caller';
import Router from '@koa/router';
import type { Context } from 'koa';
import { Type } from 'typebox';
import { originOf } from '../core/audit/audit.ts';
import { SIGNING_ALGORITHMS } from '../core/oidc/signing-algorithms.ts';
import { requireFirstPartyAdmin } from '../http/first-party.ts';
import { readJson } from '../http/request-body.ts';
import { strictBodyValidator } from '../http/strict-body.ts';
import type { KeyAdministration, ListedKey } from './key-administration.ts';

const Time = Type.String({ format: 'date-time' });
const TimeOrNull = (description: string) => Type.Union([Time, Type.Null()], { description });

/** A signing key as the API returns it. */
export const SigningKeyView = Type.Object({
  kid: Type.String(),
  alg: Type.String({ enum: [...SIGNING_ALGORITHMS] }),
  state: Type.String({
    enum: ['next', 'current', 'previous', 'retired'],
    description:
      '`current` signs, `next` is published and signs after the next rotation, `previous` is published until what it ' +
      'has signed has expired, `retired` was compromised and is accepted no longer.',
  }),
  created_at: TimeOrNull('Null for a retired key.'),
  activated_at: TimeOrNull('When it began to sign.'),
  retired_at: TimeOrNull('When it stopped signing.'),
});
export const SigningKeys = Type.Object({ data: Type.Array(SigningKeyView) });

export const KeyRotation = Type.Object({
  kids: Type.Array(Type.String(), {
    minItems: 1,
    maxItems: SIGNING_ALGORITHMS.length,
    description:
      'The current keys to be replaced. One that has been replaced already is left alone: the request can be repeated.',
  }),
  force: Type.Optional(
    Type.Boolean({ description: 'Also when the next key has been published for less than 15 minutes.' }),
  ),
  compromised: Type.Optional(
    Type.Boolean({
      description:
        'A key may have been stolen: all keys of the same algorithms are dropped at once, the next ones included, and what ' +
        'they have signed is no longer accepted.',
    }),
  ),
});
const readRotation = strictBodyValidator(KeyRotation);

function keyView({ kid, algorithm, state, createdAt, activatedAt, retiredAt }: ListedKey) {
  return {
    kid,
    alg: algorithm,
    state,
    created_at: createdAt,
    activated_at: activatedAt,
    retired_at: retiredAt,
  };
}

/** /api/v1/signing-keys, for admins: the keys that sign tokens, without the keys themselves. Errors are thrown. */
export function signingKeyRoutes(options: {
  authenticate(ctx: Context): Promise<Caller>;
  keys: KeyAdministration;
}): Router {
  const { keys } = options;
  const router = new Router({ prefix: '/api/v1/signing-keys', sensitive: true });

  router.use(async (ctx, next) => {
    ctx.set('cache-control', 'no-store');
    await next();
  });

  const adminOf = async (ctx: Context) =>
    requireFirstPartyAdmin(await options.authenticate(ctx), 'Signing keys');
  const all = async () => ({ data: (await keys.list()).map(keyView) });

  router.get('/', async (ctx) => {
    await adminOf(ctx);
    ctx.body = await all();
  });

  router.post('/rotate', async (ctx) => {
    const { id } = await adminOf(ctx);
    const { kids, force = false, compromised = false } = readRotation(await readJson(ctx));
    await keys.rotate(kids, { force, compromised, by: id, origin: originOf(ctx) });
    ctx.body = await all();
  });
  return router;
}
