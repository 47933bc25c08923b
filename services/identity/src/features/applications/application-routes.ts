import type { ConcurrencyLimit } from '@gatehouse/api/http/concurrency-limit';
import { invalidFields } from '@gatehouse/api/http/schema';
import { createListEndpoint } from '@gatehouse/api/lists/list-endpoint';
import { cursorEnvelope } from '@gatehouse/api/lists/paging';
import { created, done, ok, shape } from '@gatehouse/api/openapi/shapes';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { PROFILE_PINS } from '@gatehouse/domain/profile-pins';
import type { Caller } from '@gatehouse/tokens/caller';
import { APPEARANCE_FIELDS } from '@gatehouse/web/branding';
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
import { readPublicKeys, readPublicKeysUri } from '../../core/applications/public-keys.ts';
import type { Api } from '../../http/api.ts';
import { APPLICATIONS, createManagerApi, OwnerParameter } from './managers.ts';
import {
  ApplicationView,
  AssertionRuleView,
  applicationShape,
  applicationView,
  ExchangeRuleView,
  Protected,
} from './views.ts';

const Texts = Type.Array(Type.String());

const oneOf = (values: readonly string[]) => Type.Enum([...values]);
const pins = Object.entries(PROFILE_PINS).map(([pin, names]) => [pin, Type.Optional(oneOf(names))]);
const Pins = Type.Unsafe<Profiles>(Type.Object(Object.fromEntries(pins)));
const TextOrNull = Type.Optional(Type.Union([Type.String(), Type.Null()]));
const appearanceShape = Object.fromEntries(
  Object.keys(APPEARANCE_FIELDS).map((name) => [name, TextOrNull]),
) as Record<keyof typeof APPEARANCE_FIELDS, typeof TextOrNull>;
const Changes = Type.Object({
  name: Type.Optional(Type.String()),
  redirect_uris: Type.Optional(Texts),
  post_logout_redirect_uris: Type.Optional(Texts),
  scopes: Type.Optional(Texts),
  profiles: Type.Optional(Pins),
  legacy_implicit: Type.Optional(Type.Boolean()),
  trusted: Type.Optional(Type.Boolean()),
  // Null removes these.
  ...appearanceShape,
  jwks: Type.Optional(Type.Union([Type.Object({}), Type.Null()])),
  jwks_uri: Type.Optional(
    Type.Union([Type.String(), Type.Null()], {
      description:
        'The URL of the public keys, in place of `jwks`. They are fetched when they are needed, at most once a minute.',
    }),
  ),
  backchannel_logout_uri: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  dpop_bound_access_tokens: Type.Optional(Type.Boolean()),
  require_pushed_authorization_requests: Type.Optional(Type.Boolean()),
  require_second_factor: Type.Optional(Type.Boolean()),
  device_flow: Type.Optional(Type.Boolean()),
  id_token_signed_response_alg: Type.Optional(Type.Enum([...ID_TOKEN_ALGORITHMS])),
  id_token_profile_claims: Type.Optional(Type.Boolean()),
  security_profile: Type.Optional(Type.Union([Type.Enum([...SECURITY_PROFILES]), Type.Null()])),
  token_exchange: Type.Optional(Type.Array(ExchangeRuleView)),
  identity_assertions: Type.Optional(Type.Array(AssertionRuleView)),
  protected: Type.Optional(Protected),
});
const Draft = Type.Object({
  ...Changes.properties,
  name: Type.String(),
  type: oneOf(APPLICATION_TYPES),
  scopes: Texts,
  owner: OwnerParameter,
});

/** The list of applications, by cursor. */
const applicationList = createListEndpoint<ApplicationField, Application>({
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

const CreatedApplication = Type.Object({
  ...ApplicationView.properties,
  client_secret: Type.Optional(
    Type.String({
      description: 'The client secret, which only this response contains; absent if there is none.',
    }),
  ),
});

/** The API for applications. Errors are thrown. */
export function applicationRoutes(options: {
  applications: Applications;
  authenticate(ctx: Context): Promise<Caller>;
  concurrency: ConcurrencyLimit;
}): Api {
  const { applications, concurrency } = options;
  const api = createManagerApi(APPLICATIONS, options.authenticate);

  api.list('list', '/', {
    summary: 'List applications',
    description: 'The applications of the caller; admins get all.',
    page: { name: 'ApplicationPage', description: 'A page of the list.', row: applicationShape },
    endpoint: applicationList,
    read: ({ caller, manager }) => ({
      source: applications.source(manager),
      limited: (work) => concurrency.run(caller, work),
    }),
  });

  api.post('create', '/', {
    summary: 'Create an application',
    body: shape('NewApplication', Draft, {
      name: 'Lighthouse',
      type: 'web',
      redirect_uris: ['https://lighthouse.example/callback'],
      scopes: ['openid', 'read:data'],
    }),
    responses: created('The application has been created.', shape('CreatedApplication', CreatedApplication)),
    kinds: ['conflict'],
    handle: async ({ ctx, manager, body }) => {
      const draft = { ...changesOf(body), type: body.type } as ApplicationDraft;
      const { application, secret } = await applications.create(manager, draft, body.owner);
      ctx.set('location', `${APPLICATIONS}/${application.id}`);
      return { ...applicationView(application), client_secret: secret };
    },
  });

  api.get('read', '/:client_id', {
    summary: 'Read an application',
    conditional: 'read',
    responses: ok('The application.', applicationShape),
    handle: async ({ manager, params }) =>
      applicationView(await applications.read(manager, params.client_id)),
  });

  api.patch('patch', '/:client_id', {
    summary: 'Change an application',
    description:
      'Fields that are not in the body stay as they are. Removing scopes ends the access tokens. 409 for a ' +
      'security profile or access tokens bound to a key while the application has API keys: revoke them first.',
    conditional: 'write',
    body: shape('ApplicationChanges', Changes, { name: 'Lighthouse 2' }),
    responses: ok('The changed application.', applicationShape),
    kinds: ['conflict'],
    handle: async ({ manager, params, body, ifVersion }) =>
      applicationView(await applications.change(manager, params.client_id, changesOf(body), ifVersion)),
  });

  api.delete('remove', '/:client_id', {
    summary: 'Delete an application',
    description:
      'Ends its tokens, its API keys, and the permissions that people gave it. 409 while it is `protected`.',
    conditional: 'write',
    kinds: ['conflict'],
    responses: done('The application has been deleted.'),
    handle: ({ manager, params, ifVersion }) => applications.remove(manager, params.client_id, ifVersion),
  });
  return api;
}

/** The changes that a body asks for. Fields that are absent from it are absent from the result. */
function changesOf(body: Type.Static<typeof Changes>): ApplicationChanges {
  const { profiles, backchannel_logout_uri: backchannel, security_profile: securityProfile } = body;
  const unknown = Object.keys(profiles ?? {}).find((path) => !Object.hasOwn(PROFILE_PINS, path));
  if (unknown !== undefined) {
    throw invalidFields([{ field: `profiles.${unknown.slice(0, 100)}`, message: 'is not a known field' }]);
  }
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
      requireSecondFactor: body.require_second_factor,
      deviceFlow: body.device_flow,
      idTokenAlgorithm: body.id_token_signed_response_alg,
      idTokenProfileClaims: body.id_token_profile_claims,
      tokenExchange: body.token_exchange,
      identityAssertions: body.identity_assertions,
      protected: body.protected,
    }),
    // Null removes these.
    ...Object.fromEntries(
      Object.entries(APPEARANCE_FIELDS).flatMap(([name, own]) => {
        const value = body[name as keyof typeof APPEARANCE_FIELDS];
        return value === undefined ? [] : [[own, value ?? undefined]];
      }),
    ),
    ...publicKeysOf(body),
    ...(backchannel === undefined ? {} : { backchannelLogoutUri: backchannel ?? undefined }),
    ...(securityProfile === undefined ? {} : { securityProfile: securityProfile ?? undefined }),
  };
}

/** The public keys that a body asks for. One of the two members as null removes them; without both they stay as they are. */
function publicKeysOf({
  jwks,
  jwks_uri: uri,
}: Type.Static<typeof Changes>): Pick<ApplicationChanges, 'jwks'> {
  if (jwks === undefined && uri === undefined) return {};
  const refuse = (field: string, message: string) => invalidFields([{ field, message }]);
  if (jwks != null && uri != null) throw refuse('jwks_uri', 'cannot be combined with jwks');
  const field = uri == null ? 'jwks' : 'jwks_uri';
  const read = uri == null ? jwks && readPublicKeys(jwks) : readPublicKeysUri(uri);
  if (read != null && 'problem' in read) throw refuse(field, read.problem);
  return { jwks: read ?? undefined };
}
