import { created, done, listOf, ok, shape } from '@gatehouse/api/openapi/shapes';
import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { FederatedCredential } from '../../core/applications/application.ts';
import type { Api } from '../../http/api.ts';
import { APPLICATIONS, createManagerApi } from '../applications/managers.ts';
import { EXAMPLE_TIME, LastUseFields, lastUseView, orNull, Time } from '../applications/views.ts';
import type { FederatedCredentials } from './federated-credentials.ts';
import type { TrustedIssuers } from './trusted-issuers.ts';

/** Longer than a token can be in a request of a client. */
const MAX_TOKEN = 16 * 1024;

const Text = Type.String({ minLength: 1, maxLength: 500 });
const Rule = Type.Object({
  name: Type.String(),
  issuer: Type.String({ maxLength: 500, description: 'A trusted issuer.' }),
  subject: Type.String({
    ...{ minLength: 1, maxLength: 500 },
    description: 'The `sub` of its tokens. With `*` after the last `:` or `/`, those that begin so.',
  }),
  audience: Type.Optional(
    orNull(Text, 'The `aud` of its tokens. By default the issuer of this deployment, or its token endpoint.'),
  ),
  claims: Type.Optional(
    Type.Record(Type.String({ pattern: '^.{1,200}$' }), Type.Union([Text, Type.Number(), Type.Boolean()]), {
      maxProperties: 20,
      description: 'Further claims, with their values. A text may end with `*` as the subject may.',
    }),
  ),
});
const RULE = {
  name: 'Deployment of the shop',
  issuer: 'https://token.actions.githubusercontent.com',
  subject: 'repo:acme/shop:ref:refs/heads/main',
  audience: null,
  claims: { repository: 'acme/shop', ref: 'refs/heads/main' },
};
const EXAMPLE = {
  ...{ id: 'fed_01m7g9w2k0000c4v8x3r6t5n1z', ...RULE, created_at: EXAMPLE_TIME },
  ...{ issuer_enabled: true, last_used_at: null, last_used_address: null },
};
const credentialShape = shape(
  'FederatedCredential',
  Type.Object({
    ...{ id: Type.String(), name: Type.String(), issuer: Type.String(), subject: Type.String() },
    audience: orNull(Type.String()),
    claims: Type.Object({}, { additionalProperties: true }),
    issuer_enabled: Type.Boolean({
      description: 'Whether the issuer is still trusted. An admin may have switched it off or deleted it.',
    }),
    ...{ created_at: Time, ...LastUseFields },
  }),
  EXAMPLE,
);
const explanationShape = shape(
  'FederatedCredentialExplanation',
  Type.Object({
    token: Type.Object({
      valid: Type.Boolean({ description: 'Whether a trusted issuer has signed it, and its time is right.' }),
      problem: Type.Optional(Type.String({ description: 'Its fault, as a sentence.' })),
    }),
    rules: Type.Array(
      Type.Object({
        ...{ id: Type.String(), name: Type.String() },
        matches: Type.Boolean({ description: 'Whether the claims of the token are as the rule wants them.' }),
        claim: Type.Optional(Type.String({ description: 'The first claim that differs.' })),
        expected: Type.Optional(Type.Unknown()),
        actual: Type.Optional(Type.Unknown({ description: '`null` if the token does not have it.' })),
      }),
    ),
  }),
  {
    token: { valid: true },
    rules: [
      {
        id: EXAMPLE.id,
        name: EXAMPLE.name,
        matches: false,
        claim: 'ref',
        expected: 'refs/heads/main',
        actual: 'refs/heads/next',
      },
    ],
  },
);

/** The rules by which applications authenticate with tokens of trusted issuers. Errors are thrown. */
export function federatedCredentialRoutes(options: {
  credentials: FederatedCredentials;
  issuers: Pick<TrustedIssuers, 'isTrusted'>;
  authenticate(ctx: Context): Promise<Caller>;
}): Api {
  const { credentials, issuers } = options;
  const api = createManagerApi(APPLICATIONS, options.authenticate);
  const path = '/:client_id/federated-credentials';
  const view = async ({ id, name, issuer, subject, audience, ...it }: FederatedCredential) => ({
    ...{ id, name, issuer, subject, audience, claims: Object.fromEntries(it.claims) },
    ...{ issuer_enabled: await issuers.isTrusted(issuer), created_at: it.createdAt },
    ...lastUseView(it.lastUse),
  });

  api.get('list', path, {
    summary: 'List the federated credentials',
    responses: ok('The rules of the application.', listOf('FederatedCredentials', credentialShape)),
    handle: async ({ manager, params }) => ({
      data: await Promise.all((await credentials.list(manager, params.client_id)).map(view)),
    }),
  });

  api.post('create', path, {
    summary: 'Add a federated credential',
    description:
      'The application, of type `machine` or `web`, then authenticates with tokens of the issuer that match (RFC 7523), without a secret. ' +
      'For owners and admins.',
    body: shape('NewFederatedCredential', Rule, RULE),
    responses: created('The rule counts at once.', credentialShape),
    kinds: ['conflict'],
    async handle({ ctx, manager, params: { client_id: id }, body }) {
      const { name, issuer, subject, audience = null, claims = {} } = body;
      const rule = {
        name,
        issuer,
        subject,
        audience: audience as string | null,
        claims: Object.entries(claims),
      };
      const added = await credentials.add(manager, id, rule);
      ctx.set('location', `${APPLICATIONS}/${id}/federated-credentials/${added.id}`);
      return view(added);
    },
  });

  api.post('explain', `${path}/explain`, {
    summary: 'Explain a token',
    description:
      'Compares a token with each rule. It is neither used up nor stored. For owners, admins and developers.',
    body: shape('FederatedToken', Type.Object({ token: Type.String({ maxLength: MAX_TOKEN }) })),
    responses: ok(
      'The fault of the token, if any, and the first claim that differs from each rule.',
      explanationShape,
    ),
    async handle({ manager, params, body }) {
      const { problem, rules } = await credentials.explain(manager, params.client_id, body.token);
      return {
        token: problem === undefined ? { valid: true } : { valid: false, problem: `The token ${problem}.` },
        rules: rules.map(({ rule: { id, name }, difference }) => ({
          ...{ id, name, matches: difference === undefined },
          ...(difference && { ...difference, actual: shown(difference.actual) }),
        })),
      };
    },
  });

  api.delete('remove', `${path}/:id`, {
    summary: 'Remove a federated credential',
    description: 'For owners and admins.',
    responses: done('No token matches it any more, and the tokens that the application has for itself end.'),
    handle: ({ manager, params }) => credentials.remove(manager, params.client_id, params.id),
  });
  return api;
}

/** A claim of a token that nobody has verified, as far as a rule could match it or a list of such values. */
function shown(claim: unknown): unknown {
  const isPlain = (it: unknown) => ['string', 'number', 'boolean'].includes(typeof it);
  if (isPlain(claim) || (Array.isArray(claim) && claim.length <= 20 && claim.every(isPlain))) return claim;
  return claim == null ? null : 'an object or a long list';
}
