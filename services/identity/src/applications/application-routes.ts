import type { ConcurrencyLimit } from '@gatehouse/api/http/concurrency-limit';
import { invalidFields } from '@gatehouse/api/http/schema';
import { createListEndpoint } from '@gatehouse/api/lists/list-endpoint';
import { cursorEnvelope } from '@gatehouse/api/lists/paging';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { PROFILE_PINS } from '@gatehouse/domain/profile-pins';
import { requestInfo } from '@gatehouse/server/requests';
import type { Caller } from '@gatehouse/tokens/caller';
import Router from '@koa/router';
import type { Context } from 'koa';
import { Type } from 'typebox';
import { originOf } from '../audit/audit.ts';
import { requireFirstParty } from '../http/first-party.ts';
import { readJson } from '../http/request-body.ts';
import { strictBodyValidator } from '../http/strict-body.ts';
import type { ApiKeys } from './api-keys.ts';
import {
  APPLICATION_TYPES,
  type Application,
  type ApplicationChanges,
  type ApplicationField,
  ID_TOKEN_ALGORITHMS,
  type Profiles,
  SECURITY_PROFILES,
} from './application.ts';
import type { ApplicationDraft, Applications } from './applications.ts';
import type { Manager } from './ownership.ts';
import { readPublicKeys } from './public-keys.ts';
import type { Transfers } from './transfers.ts';
import { ApplicationView, applicationView, keyView, secretView, transferView } from './views.ts';

const DAY = 86_400;
const Lifetime = Type.Integer({ minimum: 60, maximum: 3650 * DAY });
const Texts = Type.Array(Type.String());

const oneOf = (values: readonly string[]) => Type.Enum([...values]);
const pins = Object.entries(PROFILE_PINS).map(([pin, names]) => [pin, Type.Optional(oneOf(names))]);
const Pins = Type.Unsafe<Profiles>(Type.Object(Object.fromEntries(pins)));
export const Changes = Type.Object({
  name: Type.Optional(Type.String()),
  redirect_uris: Type.Optional(Texts),
  post_logout_redirect_uris: Type.Optional(Texts),
  scopes: Type.Optional(Texts),
  profiles: Type.Optional(Pins),
  legacy_implicit: Type.Optional(Type.Boolean()),
  trusted: Type.Optional(Type.Boolean()),
  // Null removes them.
  jwks: Type.Optional(Type.Union([Type.Object({}), Type.Null()])),
  backchannel_logout_uri: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  dpop_bound_access_tokens: Type.Optional(Type.Boolean()),
  require_pushed_authorization_requests: Type.Optional(Type.Boolean()),
  id_token_signed_response_alg: Type.Optional(Type.Enum([...ID_TOKEN_ALGORITHMS])),
  security_profile: Type.Optional(Type.Union([Type.Enum([...SECURITY_PROFILES]), Type.Null()])),
});
export const Draft = Type.Object({
  ...Changes.properties,
  name: Type.String(),
  type: oneOf(APPLICATION_TYPES),
  scopes: Texts,
});
export const Secret = Type.Object({
  label: Type.Optional(Type.String({ description: 'What to call it, such as the server that uses it.' })),
  expires_in: Type.Optional(Lifetime),
});
export const Key = Type.Object({ name: Type.String(), scopes: Texts, expires_in: Type.Optional(Lifetime) });
export const Rotation = Type.Object({ overlap_seconds: Type.Integer({ minimum: 0, maximum: 30 * DAY }) });

export const Transfer = Type.Object({ to: Type.String({ minLength: 1, maxLength: 254 }) });

const readDraft = strictBodyValidator(Draft);
const readChanges = strictBodyValidator(Changes);
const readSecret = strictBodyValidator(Secret);
const readKey = strictBodyValidator(Key);
const readTransfer = strictBodyValidator(Transfer);
const readRotation = strictBodyValidator(Rotation);
const ROOT = '/api/v1/applications';

/** The list of applications, by cursor. */
export const applicationList = createListEndpoint<ApplicationField, Application>({
  rules: {
    path: ROOT,
    paging: 'cursor',
    order: { field: 'id', descending: false },
    filters: {
      owner: { field: 'owner', type: 'string', operators: ['eq'] },
      q: { field: 'name', type: 'search' },
    },
    plain: ['owner', 'q'],
  },
  envelope: cursorEnvelope,
  item: { schema: ApplicationView, write: (application) => JSON.stringify(applicationView(application)) },
});

/** The API for applications, their secrets and their API keys. Errors are thrown. */
export function applicationRoutes(options: {
  applications: Applications;
  keys: ApiKeys;
  transfers: Transfers;
  authenticate(ctx: Context): Promise<Caller>;
  concurrency: ConcurrencyLimit;
}): Router {
  const { applications, keys, transfers } = options;
  const router = new Router({ prefix: ROOT, sensitive: true });

  router.use(async (ctx, next) => {
    ctx.set('cache-control', 'no-store');
    // The pattern, as the path contains ids.
    requestInfo(ctx.req).route = String(ctx._matchedRoute ?? ROOT);
    await next();
  });

  const managing = (ctx: Context) => managerOf(ctx, options.authenticate);

  function created(ctx: Context, path: string, body: object): void {
    ctx.status = 201;
    ctx.set('location', ROOT + path);
    ctx.body = body;
  }

  const idOf = (ctx: Context) => String(ctx.params.client_id);

  router.post('/', async (ctx) => {
    const manager = await managing(ctx);
    const body = readDraft(await readJson(ctx));
    const draft = { ...changesOf(body), type: body.type } as ApplicationDraft;
    const { application, secret } = await applications.create(manager, draft);
    created(ctx, `/${application.id}`, {
      ...applicationView(application),
      client_secret: secret,
    });
  });

  router.get('/', async (ctx) => {
    const caller = await options.authenticate(ctx);
    const source = applications.source(managerFrom(ctx, caller));
    const { headers, text } = await applicationList.reply(ctx.query, source, {
      limited: (work) => options.concurrency.run(caller, work),
    });
    ctx.set(headers);
    ctx.type = 'application/json';
    ctx.body = text;
  });

  router.get('/:client_id', async (ctx) => {
    ctx.body = applicationView(await applications.read(await managing(ctx), idOf(ctx)));
  });

  router.patch('/:client_id', async (ctx) => {
    const manager = await managing(ctx);
    const changes = changesOf(readChanges(await readJson(ctx)));
    ctx.body = applicationView(await applications.change(manager, idOf(ctx), changes));
  });

  router.delete('/:client_id', async (ctx) => {
    await applications.remove(await managing(ctx), idOf(ctx));
    ctx.status = 204;
  });

  router.post('/:client_id/transfer', async (ctx) => {
    const manager = await managing(ctx);
    const { to } = readTransfer(await readJson(ctx));
    const result = await transfers.offer(manager, idOf(ctx), to);
    // An admin who takes it for themselves has it at once.
    ctx.status = 'application' in result ? 202 : 200;
    ctx.body = 'application' in result ? transferView(result) : applicationView(result);
  });

  router.get('/:client_id/transfer', async (ctx) => {
    ctx.body = transferView(await transfers.pending(await managing(ctx), idOf(ctx)));
  });

  router.delete('/:client_id/transfer', async (ctx) => {
    await transfers.cancel(await managing(ctx), idOf(ctx));
    ctx.status = 204;
  });

  router.post('/:client_id/secrets', async (ctx) => {
    const manager = await managing(ctx);
    const { expires_in: expiresIn, label } = readSecret((await readJson(ctx)) ?? {});
    const added = await applications.addSecret(manager, idOf(ctx), { expiresIn, label });
    created(ctx, `/${idOf(ctx)}/secrets/${added.id}`, {
      ...secretView(added),
      client_secret: added.secret,
    });
  });

  router.get('/:client_id/secrets', async (ctx) => {
    const secrets = await applications.listSecrets(await managing(ctx), idOf(ctx));
    ctx.body = { data: secrets.map(secretView) };
  });

  router.delete('/:client_id/secrets/:id', async (ctx) => {
    await applications.removeSecret(await managing(ctx), idOf(ctx), String(ctx.params.id));
    ctx.status = 204;
  });

  router.post('/:client_id/api-keys', async (ctx) => {
    const manager = await managing(ctx);
    const { expires_in: expiresIn, name, scopes } = readKey(await readJson(ctx));
    const key = await keys.create(manager, idOf(ctx), { name: name.trim(), scopes, expiresIn });
    created(ctx, `/${idOf(ctx)}/api-keys/${key.id}`, { ...keyView(key), api_key: key.key });
  });

  router.get('/:client_id/api-keys', async (ctx) => {
    const list = await keys.list(await managing(ctx), idOf(ctx));
    ctx.body = { data: list.map(keyView) };
  });

  router.get('/:client_id/api-keys/:id', async (ctx) => {
    ctx.body = keyView(await keys.read(await managing(ctx), idOf(ctx), String(ctx.params.id)));
  });

  router.delete('/:client_id/api-keys/:id', async (ctx) => {
    await keys.revoke(await managing(ctx), idOf(ctx), String(ctx.params.id));
    ctx.status = 204;
  });

  router.post('/:client_id/api-keys/:id/rotate', async (ctx) => {
    const manager = await managing(ctx);
    const { overlap_seconds: overlap } = readRotation(await readJson(ctx));
    const key = await keys.rotate(manager, idOf(ctx), String(ctx.params.id), overlap);
    created(ctx, `/${idOf(ctx)}/api-keys/${key.id}`, { ...keyView(key), api_key: key.key });
  });
  return router;
}

/** The person who manages applications by this request. Throws `unauthenticated` and `forbidden`. */
export async function managerOf(
  ctx: Context,
  authenticate: (ctx: Context) => Promise<Caller>,
): Promise<Manager> {
  return managerFrom(ctx, await authenticate(ctx));
}

/** The same, for a caller who is known already. Throws `forbidden`. */
function managerFrom(ctx: Context, caller: Caller): Manager {
  const person = requireFirstParty(caller, 'Applications');
  return { ...person, clientId: caller.clientId, origin: originOf(ctx) };
}

/** The changes that a body asks for. What is absent from it is absent from the result. */
function changesOf(body: Type.Static<typeof Changes>): ApplicationChanges {
  const { profiles, jwks, backchannel_logout_uri: backchannel, security_profile: securityProfile } = body;
  const unknown = Object.keys(profiles ?? {}).find((path) => !Object.hasOwn(PROFILE_PINS, path));
  if (unknown !== undefined) {
    throw invalidFields([{ field: `profiles.${unknown.slice(0, 100)}`, message: 'is not a known field' }]);
  }
  const keys = jwks == null ? undefined : readPublicKeys(jwks);
  if (keys !== undefined && 'problem' in keys)
    throw invalidFields([{ field: 'jwks', message: keys.problem }]);
  return {
    ...omitUndefined({
      name: body.name?.trim(),
      redirectUris: body.redirect_uris,
      postLogoutRedirectUris: body.post_logout_redirect_uris,
      scopes: body.scopes,
      profiles: profiles as ApplicationChanges['profiles'],
      legacyImplicit: body.legacy_implicit,
      trusted: body.trusted,
      dpopBound: body.dpop_bound_access_tokens,
      requirePushedRequests: body.require_pushed_authorization_requests,
      idTokenAlgorithm: body.id_token_signed_response_alg,
    }),
    // Null removes these.
    ...(jwks === undefined ? {} : { jwks: keys }),
    ...(backchannel === undefined ? {} : { backchannelLogoutUri: backchannel ?? undefined }),
    ...(securityProfile === undefined ? {} : { securityProfile: securityProfile ?? undefined }),
  };
}
