import type { ConcurrencyLimit } from '@gatehouse/api/http/concurrency-limit';
import { invalidFields } from '@gatehouse/api/http/schema';
import { createListEndpoint } from '@gatehouse/api/lists/list-endpoint';
import { cursorEnvelope } from '@gatehouse/api/lists/paging';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { PROFILE_PINS } from '@gatehouse/domain/profile-pins';
import type { Caller } from '@gatehouse/tokens/caller';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { Type } from 'typebox';
import {
  APPLICATION_TYPES,
  type Application,
  type ApplicationChanges,
  type ApplicationField,
  ID_TOKEN_ALGORITHMS,
  type Profiles,
  SECURITY_PROFILES,
} from '../../core/applications/application.ts';
import type { ApplicationDraft, Applications } from '../../core/applications/applications.ts';
import { readJson } from '../../http/request-body.ts';
import { strictBodyValidator } from '../../http/strict-body.ts';
import {
  APPLICATIONS,
  createApplicationRouter,
  created,
  clientIdOf as idOf,
  managerFrom,
} from './manager-routes.ts';
import { readPublicKeys } from './public-keys.ts';
import { ApplicationView, applicationView } from './views.ts';

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
const readDraft = strictBodyValidator(Draft);
const readChanges = strictBodyValidator(Changes);

/** The list of applications, by cursor. */
export const applicationList = createListEndpoint<ApplicationField, Application>({
  rules: {
    path: APPLICATIONS,
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

/** The API for applications. Errors are thrown. */
export function applicationRoutes(options: {
  applications: Applications;
  authenticate(ctx: Context): Promise<Caller>;
  concurrency: ConcurrencyLimit;
}): Router {
  const { applications } = options;
  const { router, managing } = createApplicationRouter(options.authenticate);

  router.post('/', async (ctx) => {
    const manager = await managing(ctx);
    const body = readDraft(await readJson(ctx));
    const draft = { ...changesOf(body), type: body.type } as ApplicationDraft;
    const { application, secret } = await applications.create(manager, draft);
    created(ctx, application.id, {
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

  return router;
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
