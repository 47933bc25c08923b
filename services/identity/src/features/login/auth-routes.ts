import { type ErrorBody, plainBody } from '@gatehouse/api/http/error-bodies';
import { done, ok, shape } from '@gatehouse/api/openapi/shapes';
import { ServiceError } from '@gatehouse/core/errors';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { acrOf } from '@gatehouse/tokens/acr';
import { type Caller, unauthenticated } from '@gatehouse/tokens/caller';
import { apiAudience, ceilingOf, MANAGE_APPS } from '@gatehouse/tokens/scopes';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { Account, Accounts } from '../../core/accounts/account.ts';
import type { Notices } from '../../core/accounts/notices.ts';
import { type Audit, originOf } from '../../core/audit/audit.ts';
import type { Lifetimes } from '../../core/oidc/provider-options.ts';
import type { Revocations } from '../../core/revocations/revocations.ts';
import type { PasswordCheck } from '../../core/sessions/password-check.ts';
import type { SecondFactorRequirement } from '../../core/sessions/second-factor-requirement.ts';
import type { SecondFactors } from '../../core/sessions/second-factors.ts';
import type { SessionEnds } from '../../core/sessions/session-ends.ts';
import type { Verified, WithFactors } from '../../core/sessions/verified.ts';
import type { TokenSigning } from '../../core/tokens/token-signing.ts';
import { type Api, createApi } from '../../http/api.ts';
import type { Authentication } from '../../http/authentication.ts';
import { LOGIN_CLIENT, type Logins, MAX_LOGIN_AGE } from './logins.ts';

export type AuthRoutesOptions = {
  issuer: string;
  lifetimes: Pick<Lifetimes, 'accessToken'>;
  /** Whether the API accepts passwords (RFC 9700 §2.4 advises against it). */
  passwordLogin: boolean;
  accounts: Accounts;
  checkPassword: PasswordCheck;
  secondFactors: Pick<SecondFactors, 'verify'>;
  secondFactorRequirement: Pick<SecondFactorRequirement, 'appliesTo' | 'isPutOff'>;
  audit: Audit;
  signing: Pick<TokenSigning, 'signer'>;
  authentication: Pick<Authentication, 'authenticate' | 'countUnauthenticated' | 'verifySignature'>;
  logins: Logins;
  sessionEnds: Pick<SessionEnds, 'isOver'>;
  notices: Pick<Notices, 'signedIn'>;
  revocations: Pick<Revocations, 'write'>;
  endGrant(id: string): Promise<void>;
  /** Called for each access token that was issued. */
  onTokenIssued(clientId: string): void;
};

const Login = Type.Object({
  username: Type.String({ description: 'A username, or a verified email address.' }),
  password: Type.String(),
  code: Type.Optional(
    Type.String({
      description: 'A code of the authenticator app, or a recovery code, of an account that has one.',
    }),
  ),
});
const OrNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

const loginResult = shape(
  'LoginResult',
  Type.Object({ token: Type.String({ description: 'An access token.' }), user_id: Type.String() }),
  { token: 'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.e30.c2ln', user_id: 'usr_01m7g9v7d0000a3b9e5k2m8p4q' },
);
const status = shape(
  'AuthStatus',
  Type.Object({
    authenticated: Type.Boolean(),
    user_id: OrNull('Null without a credential, and for a credential of a machine.'),
  }),
  { authenticated: false, user_id: null },
);
const permissions = shape(
  'Permissions',
  Type.Object({
    user_id: OrNull('Null for a machine.'),
    client_id: Type.String(),
    roles: Type.Array(Type.String()),
    scopes: Type.Array(Type.String()),
  }),
);

/** The password is right, and the account has a second factor, of which no code was sent. */
class MfaRequired extends ServiceError {
  constructor() {
    super(
      'forbidden',
      'This account has a second factor: send a code of its authenticator app, or a recovery code, as `code`.',
    );
  }
}

/** The account needs a second factor, and has none that can be used here. */
class SecondFactorRequired extends ServiceError {
  constructor(issuer: string) {
    super(
      'forbidden',
      `This account needs a second factor. Set up an authenticator app at ${issuer}/account/security, then log in with its code.`,
    );
  }
}

/** `{error}`, with a code for programs to act on where a second factor is missing or attempts are limited. */
const errorBody: ErrorBody = {
  write(error) {
    if (error instanceof MfaRequired) return { error: 'mfa_required', message: error.message };
    if (error instanceof SecondFactorRequired) return { error: 'mfa_setup_required', message: error.message };
    if (error.kind === 'rate_limited') return { error: 'rate_limited', message: error.message };
    return plainBody.write(error);
  },
  schema: Type.Object(
    {
      error: Type.String({
        description:
          'A human-readable message, or a code: `mfa_required`, `mfa_setup_required`, `rate_limited`.',
      }),
      message: Type.Optional(
        Type.String({
          description: 'The next step, where the error is a code.',
        }),
      ),
    },
    { title: 'ApiErrorText', additionalProperties: false },
  ),
};

/** The challenge is for those that take a credential. */
const ERROR_HEADERS = {
  unauthenticated: { 'WWW-Authenticate': 'sometimes' },
} as const;

/** /api/v1/auth: login, status, logout, refresh, permissions. */
export function authRoutes(options: AuthRoutesOptions): Api {
  const { accounts, audit, revocations, logins } = options;
  const { authenticate, countUnauthenticated, verifySignature } = options.authentication;
  const api = createApi({
    prefix: '/api/v1/auth',
    errors: { body: errorBody, headers: ERROR_HEADERS },
    // Not every endpoint takes a credential, and each in its own way.
    identify: async () => ({}),
  });

  /** A token for a login, which must be stored before it is handed out. */
  async function sign(account: Account, login: string, signIn: { auth_time: number; acr?: string }) {
    const { token, jti } = await options.signing.signer()({
      subject: account.id,
      clientId: LOGIN_CLIENT,
      audience: apiAudience(options.issuer),
      scope: [...ceilingOf(account.role), MANAGE_APPS].join(' '),
      lifetime: options.lifetimes.accessToken,
      claims: {
        gid: login,
        roles: [account.role],
        epoch: { client: 0, subject: account.epoch },
        ...signIn,
      },
    });
    return { tokenId: jti, response: { token, user_id: account.id } };
  }

  /** Ends the login whose token has been renewed, and comes again to be renewed. */
  async function endIfReused(ctx: Context, thrown: unknown): Promise<void> {
    if (!(thrown instanceof ServiceError) || thrown.kind !== 'unauthenticated') return;
    const [, token = ''] = /^Bearer +(\S+)$/i.exec(ctx.get('authorization')) ?? [];
    const caller = await verifySignature(token).catch(() => undefined);
    const { clientId, grantId: id, tokenId, subject } = caller ?? {};
    if (clientId !== LOGIN_CLIENT || id === undefined || tokenId === undefined) return;
    if (await logins.reused({ id, tokenId })) {
      const details = { reason: 'a renewed token came again' };
      const origin = originOf(ctx);
      await audit.record({
        action: 'session.ended',
        origin,
        subject: subject ?? '',
        actor: null,
        details,
      });
    }
  }

  /** Throws unless the account can do without one, for now. One that has a passkey uses that, on our pages. */
  async function requireNoSecondFactor(account: Account): Promise<void> {
    const { appliesTo, isPutOff } = options.secondFactorRequirement;
    if (appliesTo(account) && !(await isPutOff(account.id))) throw new SecondFactorRequired(options.issuer);
  }

  async function withSecondFactor(ctx: Context, verified: WithFactors, code = ''): Promise<Verified> {
    if (verified.factors.length === 0) {
      await requireNoSecondFactor(verified.account);
      return verified;
    }
    if (code === '') {
      const { id: subject } = verified.account;
      const entry = { client: LOGIN_CLIENT, subject, actor: null };
      await audit.record({ action: 'sign_in.challenged', origin: originOf(ctx), ...entry });
      throw new MfaRequired();
    }
    const attempt = { code, client: LOGIN_CLIENT, isKnownDevice: false };
    const signedIn = await options.secondFactors.verify(ctx, verified, attempt);
    if (signedIn === undefined) throw new ServiceError('unauthenticated', 'The code is not right.');
    return signedIn;
  }

  api.post('login', '/login', {
    summary: 'Log in with a password',
    description:
      'For first-party programs, as they handle the password: other applications use the authorization code flow ' +
      '(RFC 9700 §2.4). A deployment can turn it off. For an account with an authenticator app, the login without a `code` ' +
      'is a 403 with the error `mfa_required`. Where accounts need a second factor, it is one with `mfa_setup_required` for an ' +
      'account that has none.',
    body: shape('Login', Login, { username: 'ada', password: 'correct horse battery' }),
    responses: ok('The login.', loginResult),
    kinds: ['unauthenticated', 'forbidden', 'rate_limited', 'unavailable'],
    admit() {
      if (!options.passwordLogin) {
        throw new ServiceError(
          'forbidden',
          'Passwords are not accepted here: use the authorization code flow.',
        );
      }
    },
    async handle({ ctx, body: { username, password, code } }) {
      const verified = await options.checkPassword(ctx, {
        login: username,
        password,
        client: LOGIN_CLIENT,
        isKnownDevice: () => false,
      });
      if (verified === undefined) {
        throw new ServiceError('unauthenticated', 'The username or the password is not right.');
      }
      const { account, generation, amr } = await withSecondFactor(ctx, verified, code);
      const id = logins.newId();
      const { tokenId, response } = await sign(account, id, {
        auth_time: Math.floor(Date.now() / 1000),
        acr: acrOf(amr),
      });
      await logins.begin({ id, account, tokenId }, originOf(ctx));
      // After it is stored: from then on, whatever ends all sessions finds this login.
      if (await options.sessionEnds.isOver({ accountId: account.id, generation })) {
        await logins.end(account.id, id);
        throw new ServiceError(
          'unauthenticated',
          'All sessions of the account have just been ended: log in again.',
        );
      }
      await options.notices.signedIn(account, { origin: originOf(ctx), isKnown: false });
      options.onTokenIssued(LOGIN_CLIENT);
      return response;
    },
  });

  api.get('status', '/status', {
    summary: 'Read who is logged in',
    description:
      'The credential is in the Authorization header, or a token in the query, which logs of proxies may keep.',
    documentedQuery: Type.Object({ token: Type.Optional(Type.String()) }),
    responses: ok('The logged-in person.', status),
    kinds: ['unauthenticated', 'rate_limited', 'unavailable'],
    async handle({ ctx }) {
      const inQuery = ctx.query.token;
      if (Array.isArray(inQuery)) throw new ServiceError('invalid', 'token must be given only once.');
      const anonymous = ctx.get('authorization') === '' && (inQuery === undefined || inQuery === '');
      if (anonymous) {
        await countUnauthenticated(ctx);
        return { authenticated: false, user_id: null };
      }
      const caller = await authenticate(ctx, inQuery ? `Bearer ${inQuery}` : undefined);
      return { authenticated: true, user_id: personIn(caller) ?? null };
    },
  });

  api.post('logout', '/logout', {
    summary: 'Log out',
    description: 'Ends the token, and the login or the grant that it belongs to.',
    scopes: [],
    responses: done('The token is no longer accepted.'),
    async handle({ ctx }) {
      const caller = await authenticate(ctx);
      if (caller.tokenId === undefined)
        throw new ServiceError('forbidden', 'An API key cannot be logged out.');
      await revocations.write([{ kind: 'token', id: caller.tokenId }]);
      // That of a machine is not its own: all its issuer's tokens would end. An application that acts for a person ends what it has itself.
      const isOwn = caller.subject !== caller.clientId && caller.actors === undefined;
      if (caller.grantId !== undefined && isOwn) {
        const ofLogin = caller.clientId === LOGIN_CLIENT;
        await (ofLogin ? logins.end(caller.subject, caller.grantId) : options.endGrant(caller.grantId));
      }
      await audit.record({
        action: 'sign_out',
        origin: originOf(ctx),
        client: caller.clientId,
        subject: caller.subject,
        ...(caller.actors && { actor: null, details: { actors: [...caller.actors] } }),
      });
    },
  });

  api.post('refresh', '/refresh', {
    summary: 'Renew the token of a login',
    description: 'The old token ends. A login can be renewed for at most 30 days.',
    scopes: [],
    responses: ok('The new token.', loginResult),
    async handle({ ctx }) {
      const caller = await authenticate(ctx).catch(async (error: unknown) => {
        await endIfReused(ctx, error);
        throw error;
      });
      const { clientId, grantId: id, tokenId, authTime, acr } = caller;
      if (clientId !== LOGIN_CLIENT || id === undefined || tokenId === undefined || authTime === undefined) {
        throw new ServiceError('forbidden', 'Only a token from a login can be renewed here.');
      }
      if (Date.now() / 1000 - authTime > MAX_LOGIN_AGE) {
        throw unauthenticated('The login was too long ago: log in again.', 'invalid_token');
      }
      const account = await accounts.find(caller.subject);
      if (account === undefined || account.status !== 'active') {
        throw unauthenticated('There is no active account for this token.', 'invalid_token');
      }
      // The revocation of an older token may not have arrived yet: it must not be exchanged for a new one.
      if (account.epoch !== caller.epoch.subject) {
        throw unauthenticated('The account has changed since then: log in again.', 'invalid_token');
      }
      const next = await sign(account, id, { auth_time: authTime, ...omitUndefined({ acr }) });
      // One of several concurrent requests gets the new token.
      if (!(await logins.renew({ id, tokenId }, { account, tokenId: next.tokenId }, originOf(ctx)))) {
        throw unauthenticated('The access token has been revoked.', 'invalid_token');
      }
      options.onTokenIssued(LOGIN_CLIENT);
      return next.response;
    },
  });

  api.get('permissions', '/permissions', {
    summary: 'Read the permissions of the credential',
    scopes: [],
    responses: ok('The roles and scopes.', permissions),
    async handle({ ctx }) {
      const caller = await authenticate(ctx);
      return {
        user_id: personIn(caller) ?? null,
        client_id: caller.clientId,
        roles: caller.person === undefined ? [] : [caller.person.role],
        scopes: [...caller.scopes],
      };
    },
  });

  return api;
}

/** The person to whom the token was issued; not the owner of a machine. */
function personIn({ person, subject }: Caller): string | undefined {
  return person?.id === subject ? subject : undefined;
}
