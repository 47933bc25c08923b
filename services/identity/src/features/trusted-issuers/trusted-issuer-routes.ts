import { invalidFields } from '@gatehouse/api/http/schema';
import { created, done, listOf, ok, shape } from '@gatehouse/api/openapi/shapes';
import { type FieldProblem, ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { requireUnprotected } from '@gatehouse/core/protection';
import { isLoopback } from '@gatehouse/core/web-uris';
import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import { type Static, Type } from 'typebox';
import { readPublicKeys } from '../../core/applications/public-keys.ts';
import { type Audit, actedBy } from '../../core/audit/audit.ts';
import { changeAtVersion } from '../../core/optimistic-writes.ts';
import type { Api } from '../../http/api.ts';
import { requireFirstPartyAdmin } from '../../http/first-party.ts';
import { personApi } from '../../http/person-api.ts';
import { EXAMPLE_TIME, orNull, Protected, Time } from '../applications/views.ts';
import { isHttps } from './issuer-url.ts';
import { PRESET_NAMES, PRESETS } from './presets.ts';
import { isTrustDomain, withoutSvidUses } from './spiffe.ts';
import {
  ALGORITHMS,
  type IssuerChanges,
  KINDS,
  MAX_ISSUERS,
  type TrustedIssuer,
  type TrustedIssuerStore,
} from './trusted-issuer.ts';
import type { TrustedIssuers } from './trusted-issuers.ts';

const PREFIX = '/api/v1/trusted-issuers';

const oneOfMany = (values: readonly string[]) =>
  Type.Array(Type.String({ enum: [...values] }), { minItems: 1, uniqueItems: true });
const texts = (maxItems: number) =>
  Type.Array(Type.String({ maxLength: 500 }), { maxItems, uniqueItems: true });
const Nullable = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S, description: string) =>
  Type.Optional(Type.Union([schema, Type.Null()], { description }));

/** The settings that can be changed. */
const Settings = {
  kinds: Type.Array(Type.Union(KINDS.map((kind) => Type.Literal(kind))), {
    ...{ minItems: 1, uniqueItems: true },
    description: '`workload`: its tokens authenticate applications. `enterprise`: it speaks for people.',
  }),
  algorithms: Type.Optional(oneOfMany(ALGORITHMS)),
  enabled: Type.Optional(Type.Boolean()),
  protected: Type.Optional(Protected),
  jwks_uri: Nullable(
    Type.String({ maxLength: 500 }),
    'Where its keys are. By default, its discovery document says so; a SPIFFE trust domain has none.',
  ),
  jwks: Nullable(Type.Object({}), 'Its public keys (RFC 7517 §5). Then nothing is fetched.'),
  reuses_tokens: Type.Optional(
    Type.Boolean({ description: 'Whether the same token counts more than once, as with Kubernetes.' }),
  ),
  scopes: Nullable(texts(100), 'The only scopes that its tokens give.'),
  applications: Nullable(texts(100), 'The client IDs of the only applications for which its tokens count.'),
};
const Changes = Type.Partial(Type.Object(Settings));
const issuerShape = shape(
  'TrustedIssuer',
  Type.Object({
    ...{ id: Type.String(), issuer: Type.String(), kinds: Type.Array(Type.String()) },
    ...{ algorithms: Type.Array(Type.String()), enabled: Type.Boolean(), preset: orNull(Type.String()) },
    ...{ jwks_uri: orNull(Type.String()), jwks: orNull(Type.Object({}, { additionalProperties: true })) },
    ...{ reuses_tokens: Type.Boolean(), protected: Protected },
    ...{ scopes: orNull(Type.Array(Type.String())), applications: orNull(Type.Array(Type.String())) },
    ...{ created_at: Time, updated_at: Time },
  }),
  {
    ...{ id: 'iss_01m7g9w2k0000c4v8x3r6t5n1z', issuer: PRESETS.github.issuer, kinds: ['workload'] },
    ...{ algorithms: ['RS256'], enabled: true, preset: 'github', jwks_uri: null, jwks: null },
    ...{ reuses_tokens: false, protected: false, scopes: null, applications: null },
    ...{ created_at: EXAMPLE_TIME, updated_at: EXAMPLE_TIME },
  },
);

function view({ id, issuer, kinds, algorithms, enabled, preset, ...more }: TrustedIssuer) {
  return {
    ...{ id, issuer, kinds, algorithms, enabled, preset },
    ...{ jwks_uri: more.jwksUri ?? null, jwks: more.jwks ?? null, reuses_tokens: more.reusesTokens },
    ...{ protected: more.protected, scopes: more.scopes, applications: more.applications },
    ...{ created_at: more.createdAt, updated_at: more.updatedAt },
  };
}

/** /api/v1/trusted-issuers, for admins. Errors are thrown. */
export function trustedIssuerRoutes(options: {
  issuer: string;
  store: TrustedIssuerStore;
  issuers: Pick<TrustedIssuers, 'change' | 'remove' | 'forget'>;
  audit: Audit;
  authenticate(ctx: Context): Promise<Caller>;
}): Api {
  const { store, issuers, audit } = options;
  const api = personApi(PREFIX, options.authenticate, 'Trusted issuers', requireFirstPartyAdmin);
  const isLocal = isLoopback(new URL(options.issuer));
  async function find(id: string): Promise<TrustedIssuer> {
    const found = await store.find(id);
    if (found === undefined) throw new ServiceError('not_found', 'There is no such trusted issuer.');
    return found;
  }
  const isUrl = (text: string) => isHttps(text, isLocal) && !/[?#\s]/.test(text);

  /** The fields of an issuer with these settings, beside those that it has. Throws `invalid`. */
  function fieldsOf(
    body: Partial<Static<typeof Changes>>,
    before: Pick<TrustedIssuer, 'issuer'> & Partial<TrustedIssuer>,
  ): IssuerChanges {
    const { jwks, jwks_uri: jwksUri, reuses_tokens: reusesTokens, ...plain } = body;
    const keys = jwks == null ? undefined : readPublicKeys(withoutSvidUses(jwks));
    const { issuer: url } = before;
    const isDomain = isTrustDomain(url);
    const hasKeys =
      (jwks === undefined ? before.jwks : jwks) != null ||
      (jwksUri === undefined ? before.jwksUri : jwksUri) != null;
    const problems: (FieldProblem | false)[] = [
      !isDomain &&
        !isUrl(url) && { field: 'issuer', message: 'must be an https URL without a query or fragment' },
      isDomain && !hasKeys && { field: 'jwks_uri', message: 'must be the URL of the SPIFFE bundle' },
      isDomain &&
        (body.kinds as readonly string[] | undefined)?.includes('enterprise') === true && {
          ...{ field: 'kinds', message: 'must be workload alone: a SPIFFE trust domain knows no people' },
        },
      url === options.issuer && { field: 'issuer', message: 'must not be this deployment' },
      jwksUri != null && !isHttps(jwksUri, isLocal) && { field: 'jwks_uri', message: 'must be an https URL' },
      jwksUri != null && jwks != null && { field: 'jwks_uri', message: 'must not come together with jwks' },
      keys !== undefined && 'problem' in keys && { field: 'jwks', message: keys.problem },
    ];
    const found = problems.filter((it) => it !== false);
    if (found.length > 0) throw invalidFields(found);
    return {
      ...omitUndefined({ ...plain, reusesTokens }),
      // The one replaces the other.
      ...(jwks === undefined ? {} : { jwks: keys as TrustedIssuer['jwks'] }),
      ...(jwksUri === undefined ? {} : { jwksUri: jwksUri ?? undefined }),
      ...(jwks == null ? {} : { jwksUri: undefined }),
      ...(jwksUri == null ? {} : { jwks: undefined }),
    };
  }

  async function record(
    ctx: Context,
    action: 'created' | 'changed' | 'deleted',
    actor: string,
    details: object,
  ) {
    await audit.record({
      action: `trusted_issuer.${action}`,
      ...{ ...actedBy(ctx, actor), details: { ...details } },
    });
  }

  api.post('create', '/', {
    summary: 'Trust an issuer',
    description:
      'The tokens of an issuer of kind `workload` authenticate the applications that have a rule for them, such as those of a CI or a ' +
      'cluster. Everybody whom the issuer gives tokens can ask: the rules say who is meant.',
    body: shape(
      'NewTrustedIssuer',
      Type.Object({
        issuer: Type.String({
          maxLength: 500,
          description:
            'The `iss` of its tokens, or a SPIFFE trust domain, as `spiffe://example.org`. It cannot be changed later.',
        }),
        ...Settings,
        preset: Type.Optional(
          Type.Union(
            PRESET_NAMES.map((name) => Type.Literal(name)),
            {
              description: 'The defaults of `algorithms` and `reuses_tokens`.',
            },
          ),
        ),
      }),
      { issuer: PRESETS.github.issuer, kinds: ['workload'], preset: 'github' },
    ),
    responses: created('The issuer.', issuerShape),
    kinds: ['conflict'],
    async handle({ ctx, person, body: { issuer, preset, ...body } }) {
      const { algorithms, reusesTokens } = preset === undefined ? DEFAULTS : PRESETS[preset];
      const fields = fieldsOf(body, { issuer });
      if ((await store.list()).length >= MAX_ISSUERS)
        throw new ServiceError('conflict', `There can be ${MAX_ISSUERS} trusted issuers.`);
      const now = new Date();
      const added: TrustedIssuer = {
        ...{ id: newId('iss'), issuer, kinds: body.kinds, algorithms, reusesTokens, enabled: true },
        ...{ preset: preset ?? null, jwks: undefined, jwksUri: undefined, scopes: null, applications: null },
        protected: false,
        ...fields,
        ...{ generation: 1, revokedBelow: 1, createdAt: now, updatedAt: now },
      };
      if (!(await store.insert(added))) throw new ServiceError('conflict', 'This issuer is trusted already.');
      issuers.forget();
      await record(ctx, 'created', person.id, { trusted_issuer: added.id, issuer, kinds: body.kinds });
      ctx.set('location', `${PREFIX}/${added.id}`);
      return view(added);
    },
  });

  api.get('list', '/', {
    summary: 'List trusted issuers',
    responses: ok('The oldest first.', listOf('TrustedIssuers', issuerShape)),
    handle: async () => ({ data: (await store.list()).map(view) }),
  });

  api.get('read', '/:id', {
    summary: 'Read a trusted issuer',
    conditional: 'read',
    responses: ok('The issuer.', issuerShape),
    handle: async ({ params }) => view(await find(params.id)),
  });

  api.patch('update', '/:id', {
    summary: 'Change a trusted issuer',
    conditional: 'write',
    description:
      'Switching it off, other keys, kinds or algorithms, and other bounds end all tokens that rest on it. Switching it on again brings none back.',
    body: shape('TrustedIssuerChanges', Changes, { enabled: false }),
    responses: ok('The issuer.', issuerShape),
    kinds: ['conflict'],
    async handle({ ctx, person, params, body, ifVersion }) {
      const changed = await changeAtVersion(
        ifVersion,
        () => find(params.id),
        (before) => issuers.change(before, fieldsOf(body, before)),
      );
      const details = { trusted_issuer: changed.id, issuer: changed.issuer, fields: Object.keys(body) };
      await record(ctx, 'changed', person.id, { ...details, ...omitUndefined({ enabled: body.enabled }) });
      return view(changed);
    },
  });

  api.delete('remove', '/:id', {
    summary: 'Delete a trusted issuer',
    description: 'The rules of applications for it stay, and match nothing. 409 while it is `protected`.',
    conditional: 'write',
    kinds: ['conflict'],
    responses: done('It is not trusted any more, and all tokens that rest on it have ended.'),
    async handle({ ctx, person, params, ifVersion }) {
      const removed = await changeAtVersion(
        ifVersion,
        () => find(params.id),
        async (found) => {
          requireUnprotected(found, 'trusted issuer');
          return issuers.remove(found);
        },
      );
      await record(ctx, 'deleted', person.id, { trusted_issuer: removed.id, issuer: removed.issuer });
    },
  });
  return api;
}

/** Of an issuer without a preset. */
const DEFAULTS = { algorithms: ['RS256', 'ES256', 'PS256', 'EdDSA', 'Ed25519'], reusesTokens: false };
