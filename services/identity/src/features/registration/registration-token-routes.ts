import { invalidFields } from '@gatehouse/api/http/schema';
import { created, done, listOf, ok, shape } from '@gatehouse/api/openapi/shapes';
import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import type { Caller } from '@gatehouse/tokens/caller';
import { ceilingOf } from '@gatehouse/tokens/scopes';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { AccountMails } from '../../core/accounts/account-mails.ts';
import { MAX_APPLICATIONS, makeSecret } from '../../core/applications/application.ts';
import { nameProblems, scopeProblems } from '../../core/applications/application-rules.ts';
import { type Audit, originOf } from '../../core/audit/audit.ts';
import type { Authority } from '../../core/authority/authority.ts';
import type { Api } from '../../http/api.ts';
import { personApi } from '../../http/person-api.ts';
import {
  MAX_REGISTRATION_TOKENS,
  type RegistrationToken,
  type RegistrationTokenStore,
} from './registration-token.ts';
import { registrationTokenCreated } from './registration-token-notice.ts';

const PREFIX = '/api/v1/registration-tokens';
const DAY = 86_400;
const DEFAULTS = { uses: 1, expiresIn: DAY };

const Time = Type.String({ format: 'date-time' });
const Draft = Type.Object({
  name: Type.String({ description: 'The purpose of the token, such as the program that registers clients.' }),
  scopes: Type.Array(Type.String(), { description: 'The most that a client may ask for.' }),
  machines: Type.Optional(
    Type.Boolean({
      description:
        'Whether machines (client_credentials) can register. They act as you, without anybody signing in. False by default.',
    }),
  ),
  uses: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_APPLICATIONS,
      description: `How many clients can register with it. By default ${DEFAULTS.uses}.`,
    }),
  ),
  expires_in: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: 365 * DAY,
      description: 'How long it can be used, in seconds. By default a day.',
    }),
  ),
});
const View = Type.Object({
  id: Type.String(),
  name: Type.String(),
  scopes: Type.Array(Type.String()),
  machines: Type.Boolean(),
  uses_left: Type.Integer(),
  last_four: Type.String({ description: 'The last characters of the token, to recognize it.' }),
  created_at: Time,
  expires_at: Time,
});
const viewShape = shape('RegistrationToken', View, {
  id: 'rgt_01m7g9w2k0000c4v8x3r6t5n1z',
  name: 'Continuous integration',
  scopes: ['openid', 'profile'],
  machines: false,
  uses_left: 10,
  last_four: 'x7Qa',
  created_at: '2026-11-02T09:30:00.000Z',
  expires_at: '2026-11-09T09:30:00.000Z',
});

const view = ({
  id,
  name,
  scopes,
  machines,
  usesLeft,
  lastFour,
  createdAt,
  expiresAt,
}: RegistrationToken) => ({
  ...{ id, name, scopes, machines, uses_left: usesLeft, last_four: lastFour },
  ...{ created_at: createdAt, expires_at: expiresAt },
});

/** /api/v1/registration-tokens: a person's own. Errors are thrown. */
export function registrationTokenRoutes(options: {
  tokens: RegistrationTokenStore;
  audit: Audit;
  authority: Pick<Authority, 'give'>;
  mails: Pick<AccountMails, 'notify'>;
  authenticate(ctx: Context): Promise<Caller>;
}): Api {
  const { tokens, audit } = options;
  const api = personApi(PREFIX, options.authenticate, 'Registration tokens');

  const stamp = ({ person, caller }: { person: { id: string }; caller: Caller }) =>
    options.authority.give('registration_token', { id: person.id, epoch: caller.epoch.subject });
  const listOwn = async (who: Parameters<typeof stamp>[0]) =>
    tokens.list(who.person.id, (await stamp(who)).epoch);

  api.post('create', '/', {
    summary: 'Create a registration token',
    description:
      'An initial access token (RFC 7591 §1.2): whoever has it registers clients at `POST /oauth2/register`. They become your applications, ' +
      'and have at most these scopes. The token ends when your account is recovered, and with all your credentials.',
    body: shape('NewRegistrationToken', Draft, {
      name: 'Continuous integration',
      scopes: ['openid', 'profile'],
      uses: 10,
      expires_in: 7 * DAY,
    }),
    responses: created(
      'The registration token has been created.',
      shape(
        'CreatedRegistrationToken',
        Type.Object({
          ...View.properties,
          token: Type.String({ description: 'The token, shown only here.' }),
        }),
      ),
    ),
    kinds: ['conflict'],
    async handle({ ctx, caller, person, body }) {
      const { scopes, uses = DEFAULTS.uses, expires_in: expiresIn = DEFAULTS.expiresIn } = body;
      const { machines = false } = body;
      const { epoch: ownerEpoch, role: ownerRole = 'user' } = await stamp({ person, caller });
      const name = body.name.trim();
      const allowed = ceilingOf(person.role);
      const problems = [...nameProblems(name), ...scopeProblems(scopes, { type: 'web', allowed })];
      if (problems.length > 0) throw invalidFields(problems);
      const { secret, hash: tokenHash, lastFour, createdAt } = makeSecret();
      const token: RegistrationToken = {
        ...{
          id: newId('rgt'),
          owner: person.id,
          ownerEpoch,
          ownerRole,
          name,
          scopes,
          machines,
          usesLeft: uses,
        },
        ...{ tokenHash, lastFour, createdAt },
        expiresAt: new Date(createdAt.getTime() + expiresIn * 1000),
      };
      if (!(await tokens.insert(token))) {
        const message = `You already have ${MAX_REGISTRATION_TOKENS} registration tokens: revoke one of them first.`;
        throw new ServiceError('conflict', message);
      }
      await audit.record({
        ...{ action: 'registration_token.created', origin: originOf(ctx), subject: person.id },
        details: { token: token.id, scopes, machines, uses },
      });
      void options.mails.notify(person.id, registrationTokenCreated({ name, machines }));
      ctx.set('location', `${PREFIX}/${token.id}`);
      return { ...view(token), token: secret };
    },
  });

  api.get('list', '/', {
    summary: 'List registration tokens',
    responses: ok(
      'Your own that have not expired, the latest first.',
      listOf('RegistrationTokens', viewShape),
    ),
    handle: async (request) => ({ data: (await listOwn(request)).map(view) }),
  });

  api.get('read', '/:id', {
    summary: 'Read a registration token',
    responses: ok('The registration token, without its text.', viewShape),
    async handle({ person, caller, params }) {
      const found = (await listOwn({ person, caller })).find(({ id }) => id === params.id);
      if (found === undefined) throw noSuchToken();
      return view(found);
    },
  });

  api.delete('remove', '/:id', {
    summary: 'Revoke a registration token',
    description: 'Clients that have registered with it stay.',
    responses: done('No client can register with it any more.'),
    async handle({ ctx, person, params }) {
      if (!(await tokens.remove(params.id, person.id))) throw noSuchToken();
      await audit.record({
        ...{ action: 'registration_token.revoked', origin: originOf(ctx), subject: person.id },
        details: { token: params.id },
      });
    },
  });
  return api;
}

const noSuchToken = () => new ServiceError('not_found', 'There is no such registration token.');
