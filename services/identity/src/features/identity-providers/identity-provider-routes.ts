import { invalidFields } from '@gatehouse/api/http/schema';
import { created, done, listOf, ok, shape } from '@gatehouse/api/openapi/shapes';
import { ServiceError } from '@gatehouse/core/errors';
import { requireUnprotected } from '@gatehouse/core/protection';
import { laterThan } from '@gatehouse/data/later-than';
import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import { type TSchema, Type } from 'typebox';
import { nameProblems } from '../../core/applications/application-rules.ts';
import { type Audit, actedBy } from '../../core/audit/audit.ts';
import { changeAtVersion } from '../../core/optimistic-writes.ts';
import type { Revocations } from '../../core/revocations/revocations.ts';
import type { SessionEnds } from '../../core/sessions/session-ends.ts';
import type { Api } from '../../http/api.ts';
import { requireFirstPartyAdmin } from '../../http/first-party.ts';
import { personApi } from '../../http/person-api.ts';
import { Protected } from '../applications/views.ts';
import type { ActiveProvider, ActiveProviders } from './active-providers.ts';
import { callbackPath } from './callback-routes.ts';
import type { LinkedIdentityStore } from './linked-identity.ts';
import { notificationPath } from './notification-routes.ts';
import type { ProviderSealer } from './provider-sealer.ts';
import { MAX_PROVIDERS, ProviderSettings, providerOf, wrong } from './provider-settings.ts';
import { type ProviderStore, providerSupport, type StoredProvider } from './stored-provider.ts';
import { UpstreamError } from './upstream-identity.ts';
import { beganWith } from './upstream-session.ts';

const PREFIX = '/api/v1/identity-providers';

const { client_secret, private_key, id, preset, ...settings } = ProviderSettings.properties;
const Nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);
const Time = Nullable(Type.String({ format: 'date-time' }));
const Texts = Type.Array(Type.String());

const providerShape = shape(
  'IdentityProvider',
  Type.Object({
    id: Type.String({ description: 'Its name in the redirect URI.' }),
    preset: Nullable(Type.String()),
    source: Type.String({
      enum: ['setting', 'api'],
      description: 'Those of the setting `IDENTITY_PROVIDERS` can only be changed there.',
    }),
    enabled: Type.Boolean({
      description:
        'Whether people can sign in with it and connect it. If `false`, its callback is refused, and connected accounts stay connected.',
    }),
    label: Type.String(),
    issuer: Type.String(),
    client_id: Type.String(),
    token_endpoint_auth_method: Nullable(Type.String()),
    team_id: Nullable(Type.String()),
    key_id: Nullable(Type.String()),
    scope: Type.String(),
    claims: Type.Object({
      ...{ email: Type.String(), email_verified: Type.String(), name: Type.String(), picture: Type.String() },
    }),
    refresh_profile: Type.Boolean(),
    trust_email: Type.Boolean(),
    domains: Nullable(Texts),
    passwords: Type.Boolean(),
    sign_up: Nullable(Type.String({ enum: ['open', 'domains', 'off'] })),
    second_factor: Type.Object({ amr: Texts, acr: Texts }),
    reauthentication: Type.Boolean(),
    protected: Protected,
    secrets: Type.Array(Type.Object({ name: Type.String(), key: Type.String(), digest: Type.String() }), {
      description:
        'HMAC-SHA256 digests (base64url) of its secrets, by which somebody who has a secret sees whether it is this one. The key is the text of `key`.',
    }),
    redirect_uri: Type.String({ description: 'To be registered at the provider.' }),
    backchannel_logout_uri: Type.String({
      description: 'To be registered at the provider if it supports back-channel logout.',
    }),
    security_events_uri: Type.String({
      description:
        'For a Shared Signals stream at the provider, by push. A session that ends there ends the sessions here that began with it.',
    }),
    global_token_revocation_uri: Type.String({
      description:
        'For Universal Logout of Okta, with “Issuer and Subject Identifier” as the subject format.',
    }),
    connected_accounts: Type.Integer({ description: 'The number of accounts that are connected to it.' }),
    created_at: Time,
    updated_at: Time,
  }),
  {
    ...{
      id: 'acme',
      preset: null,
      source: 'api',
      enabled: true,
      label: 'Acme',
      issuer: 'https://id.acme.example',
    },
    ...{ client_id: 'gatehouse', token_endpoint_auth_method: null, team_id: null, key_id: null },
    scope: 'openid email profile',
    claims: { email: 'email', email_verified: 'email_verified', name: 'name', picture: 'picture' },
    ...{ refresh_profile: false, trust_email: false, domains: ['acme.example'], passwords: true },
    ...{ sign_up: null, second_factor: { amr: ['mfa'], acr: [] }, reauthentication: true },
    protected: false,
    secrets: [{ name: 'client_secret', key: 'q3…', digest: 'Zb…' }],
    redirect_uri: 'https://id.example.com/sign-in/providers/acme/callback',
    backchannel_logout_uri: 'https://id.example.com/sign-in/providers/acme/backchannel-logout',
    security_events_uri: 'https://id.example.com/sign-in/providers/acme/security-events',
    global_token_revocation_uri: 'https://id.example.com/sign-in/providers/acme/global-token-revocation',
    connected_accounts: 120,
    ...{ created_at: '2026-11-02T09:30:00.000Z', updated_at: '2026-11-02T09:30:00.000Z' },
  },
);
const testShape = shape(
  'IdentityProviderTest',
  Type.Object({
    ok: Type.Boolean(),
    problem: Nullable(Type.String({ description: 'A sentence about the first problem that was found.' })),
  }),
  { ok: false, problem: 'Its metadata cannot be read: the server refused the connection.' },
);
/** The settings that can be changed: the id is in the redirect URI, and the preset decides the meaning of the rest. */
const changes = Object.fromEntries(
  Object.entries({ ...settings, client_secret, private_key }).map(([name, schema]) => [
    name,
    Type.Optional(Nullable(schema)),
  ]),
);

/** /api/v1/identity-providers, for admins. Errors are thrown. */
export function identityProviderRoutes(options: {
  issuer: string;
  active: ActiveProviders;
  store: ProviderStore;
  sealer: ProviderSealer;
  linkedIdentities: Pick<LinkedIdentityStore, 'count'>;
  revocations: Pick<Revocations, 'write'>;
  sessionEnds: Pick<SessionEnds, 'endCommandLines'>;
  /** The provider, ready for use, but not yet used. */
  activate(provider: ReturnType<typeof providerOf>): Pick<ActiveProvider, 'client'>;
  audit: Audit;
  authenticate(ctx: Context): Promise<Caller>;
}): Api {
  const { issuer, active, store, sealer, linkedIdentities, revocations, audit } = options;
  const api = personApi(PREFIX, options.authenticate, 'Identity providers', requireFirstPartyAdmin);

  async function view({ provider, stored }: ActiveProvider) {
    const { id, authentication: by, claims } = provider;
    return {
      ...{ id, preset: provider.preset ?? null, source: stored === undefined ? 'setting' : 'api' },
      enabled: provider.isEnabled,
      ...{ label: provider.label, issuer: provider.issuer, client_id: provider.clientId },
      token_endpoint_auth_method: by.method === 'apple' ? null : (by.method ?? null),
      ...(by.method === 'apple' ? { team_id: by.teamId, key_id: by.keyId } : { team_id: null, key_id: null }),
      scope: provider.scope,
      claims: {
        ...{ email: claims.email, email_verified: claims.emailVerified },
        ...{ name: claims.name, picture: claims.picture },
      },
      ...{ refresh_profile: provider.refreshesProfile, trust_email: provider.trustsEmail },
      ...{ domains: provider.domains ?? null, passwords: provider.allowsPasswords },
      ...{ sign_up: provider.signUp ?? null, second_factor: provider.secondFactor },
      reauthentication: provider.reauthenticates,
      protected: stored?.settings.protected === true,
      secrets: stored === undefined ? [] : sealer.digests(stored),
      redirect_uri: issuer + callbackPath(id),
      backchannel_logout_uri: issuer + notificationPath(id, 'backchannel-logout'),
      security_events_uri: issuer + notificationPath(id, 'security-events'),
      global_token_revocation_uri: issuer + notificationPath(id, 'global-token-revocation'),
      connected_accounts: await linkedIdentities.count(id),
      ...{ created_at: stored?.createdAt ?? null, updated_at: stored?.updatedAt ?? null },
    };
  }

  async function find(id: string): Promise<ActiveProvider> {
    const found = active.find(id);
    if (found === undefined) throw new ServiceError('not_found', 'There is no such identity provider.');
    return found;
  }

  /** One that can be changed, as it is in the database. */
  async function findStored(id: string) {
    // Another replica may have changed it a moment ago.
    await active.reload();
    const { stored } = await find(id);
    if (stored !== undefined) return stored;
    throw new ServiceError(
      'conflict',
      'This identity provider is in IDENTITY_PROVIDERS, and can only be changed there.',
    );
  }

  /** The id of a provider with these settings. Throws `invalid` when they are wrong, or an enabled provider does not respond as they say. */
  async function check(entry: ProviderSettings): Promise<string> {
    const provider = providerOf(entry);
    const problems = nameProblems(provider.label).map((it) => ({ ...it, field: 'label' }));
    if (problems.length > 0) throw invalidFields(problems);
    // A provider that does not respond can be turned off.
    if (!provider.isEnabled) return provider.id;
    try {
      await options.activate(provider).client.load();
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      const message = `could not be confirmed, since its metadata cannot be read: ${error.message}`;
      throw new ServiceError('invalid', `The issuer ${message}.`, {
        details: [{ field: 'issuer', message }],
      });
    }
    return provider.id;
  }

  /** Undefined when somebody else has changed it since it was read. */
  async function change(stored: StoredProvider, body: Readonly<Record<string, unknown>>) {
    const before = sealer.open(stored);
    const settled = Object.entries({ ...before, ...body }).filter(([, value]) => value !== null);
    const entry = Object.fromEntries(settled) as ProviderSettings;
    // The issuer decides where the secret goes: an admin, who cannot read it, must not have it sent to a server of their own.
    const secret = before.preset === 'apple' ? 'private_key' : 'client_secret';
    const isElsewhere = providerOf(entry).issuer !== providerOf(before).issuer;
    if (isElsewhere && typeof body[secret] !== 'string') {
      throw wrong(secret, 'is required together with another issuer');
    }
    await check(entry);
    const changed = { ...stored, ...sealer.seal(stored.id, entry), updatedAt: laterThan(stored) };
    return (await store.replace(stored, changed)) ? { changed, entry, isElsewhere } : undefined;
  }

  /** Ends what a provider supported: tokens for its assertions, and sign-ins of the command line, which expire with no session. */
  async function endSupport(
    provider: Parameters<typeof providerSupport>[0],
    by: ReturnType<typeof actedBy>,
  ): Promise<void> {
    await revocations.write([providerSupport(provider)]);
    const entry = { ...by, action: 'session.ended', details: { provider: provider.id } } as const;
    await options.sessionEnds.endCommandLines((it) => beganWith(it, { provider: provider.id }), entry);
  }

  async function record(
    ctx: Context,
    action: 'added' | 'changed' | 'removed',
    actor: string,
    details: { provider: string; fields?: string[] },
  ): Promise<void> {
    await audit.record({ action: `identity_provider.${action}`, ...actedBy(ctx, actor), details });
  }

  api.post('create', '/', {
    summary: 'Add an identity provider',
    description:
      'People can sign in with it at once; on other replicas, within five seconds. Its metadata is read before it is added.',
    body: shape('NewIdentityProvider', ProviderSettings, {
      ...{
        preset: 'github',
        client_id: 'the client ID that GitHub shows',
        client_secret: 'the secret that GitHub shows',
      },
      domains: ['acme.example'],
    }),
    responses: created('The identity provider.', providerShape),
    kinds: ['conflict'],
    async handle({ ctx, person, body }) {
      if ((await store.list()).length >= MAX_PROVIDERS) {
        throw new ServiceError(
          'conflict',
          `There can be ${MAX_PROVIDERS} identity providers. Remove one that is not used.`,
        );
      }
      const id = await check(body);
      const now = new Date();
      const isConfigured = active
        .list()
        .some(({ provider, stored }) => provider.id === id && stored === undefined);
      const added = { ...sealer.seal(id, body), createdAt: now, updatedAt: now };
      if (isConfigured || !(await store.insert(added))) {
        throw new ServiceError('conflict', `There is an identity provider with the id ${id}.`);
      }
      await record(ctx, 'added', person.id, { provider: id });
      await active.reload();
      ctx.set('location', `${PREFIX}/${id}`);
      return view(await find(id));
    },
  });

  api.get('list', '/', {
    summary: 'List identity providers',
    responses: ok('Those by which people can sign in.', listOf('IdentityProviders', providerShape)),
    handle: async () => ({ data: await Promise.all(active.list().map(view)) }),
  });

  api.get('read', '/:id', {
    summary: 'Read an identity provider',
    conditional: 'read',
    responses: ok('The identity provider, without its secret.', providerShape),
    handle: async ({ params }) => view(await find(params.id)),
  });

  api.patch('update', '/:id', {
    summary: 'Change an identity provider',
    conditional: 'write',
    description:
      '`null` puts a setting back to its default. The secret stays unless another one is sent; together with another issuer, it has to be sent. ' +
      'Accounts that are connected at one issuer cannot be signed in to at another. Another issuer and `enabled: false` end the tokens that were issued for its identity assertions.',
    body: shape('IdentityProviderChanges', Type.Object(changes), { label: 'Acme', sign_up: 'off' }),
    responses: ok('The identity provider.', providerShape),
    kinds: ['conflict'],
    async handle({ ctx, person, params, body, ifVersion }) {
      const { changed, entry, isElsewhere } = await changeAtVersion(
        ifVersion,
        () => findStored(params.id),
        (stored) => change(stored, body),
      );
      // Also when it was off before: a crash may have kept it from being written.
      if (isElsewhere || !providerOf(entry).isEnabled) {
        await endSupport(changed, actedBy(ctx, person.id));
      }
      await record(ctx, 'changed', person.id, { provider: params.id, fields: Object.keys(body) });
      await active.reload();
      return view(await find(params.id));
    },
  });

  api.post('test', '/:id/test', {
    summary: 'Test an identity provider',
    description:
      'Fetches its metadata and signing keys, and asks its token endpoint whether it accepts the client ID and the secret. Nobody is signed in.',
    responses: ok('The result.', testShape),
    async handle({ params }) {
      // Another replica may have added it a moment ago.
      await active.reload();
      const problem = await (await find(params.id)).client.test();
      return { ok: problem === undefined, problem: problem ?? null };
    },
  });

  api.delete('remove', '/:id', {
    summary: 'Remove an identity provider',
    description:
      'Nobody can sign in with it any more, and the tokens that were issued for its identity assertions end. Sessions stay. Accounts stay connected, for the case that it is added again with the same id and issuer. ' +
      '409 while it is `protected`.',
    conditional: 'write',
    responses: done('It is removed; on other replicas, within five seconds.'),
    kinds: ['conflict'],
    async handle({ ctx, person, params: { id }, ifVersion }) {
      await changeAtVersion(
        ifVersion,
        () => findStored(id),
        async (stored) => {
          requireUnprotected({ protected: stored.settings.protected === true }, 'identity provider');
          // First: after a crash, it can be removed again.
          await endSupport({ id, updatedAt: laterThan(stored) }, actedBy(ctx, person.id));
          return (await store.remove(stored)) || undefined;
        },
      );
      await record(ctx, 'removed', person.id, { provider: id });
      await active.reload();
    },
  });
  return api;
}
