import { bodyValidator } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import { type Caller, unauthenticated } from '@gatehouse/tokens/caller';
import { apiAudience, ceilingOf, MANAGE_APPS } from '@gatehouse/tokens/scopes';
import Router from '@koa/router';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { Account, Accounts } from '../../core/accounts/account.ts';
import type { Notices } from '../../core/accounts/notices.ts';
import { type Audit, originOf } from '../../core/audit/audit.ts';
import type { Lifetimes } from '../../core/oidc/provider.ts';
import type { TokenSigning } from '../../core/oidc/token-signing.ts';
import type { Revocations } from '../../core/revocations/revocations.ts';
import type { PasswordCheck } from '../../core/sessions/password-check.ts';
import type { SessionEnds } from '../../core/sessions/session-ends.ts';
import type { Authentication } from '../../http/authentication.ts';
import { readJson } from '../../http/request-body.ts';
import { LOGIN_CLIENT, type Logins, MAX_LOGIN_AGE } from './logins.ts';

export type AuthRoutesOptions = {
  issuer: string;
  lifetimes: Pick<Lifetimes, 'accessToken'>;
  /** Whether the API accepts passwords (RFC 9700 §2.4 advises against it). */
  passwordLogin: boolean;
  accounts: Accounts;
  checkPassword: PasswordCheck;
  audit: Audit;
  signing: Pick<TokenSigning, 'signer'>;
  authentication: Pick<Authentication, 'authenticate' | 'countUnauthenticated' | 'verifySignature'>;
  logins: Logins;
  sessionEnds: Pick<SessionEnds, 'isOver'>;
  notices: Pick<Notices, 'signedIn'>;
  revocations: Pick<Revocations, 'write'>;
  endGrant(id: string): Promise<void>;
  /** Is told of each access token that was issued. */
  onTokenIssued(clientId: string): void;
};

export const Login = Type.Object({
  username: Type.String({ description: 'A username, or a verified email address.' }),
  password: Type.String(),
});
const readLogin = bodyValidator(Login);

/** /api/v1/auth: login, status, logout, refresh, permissions. */
export function authRoutes(options: AuthRoutesOptions): Router {
  const { accounts, audit, revocations, logins } = options;
  const { authenticate, countUnauthenticated, verifySignature } = options.authentication;
  const router = new Router({ prefix: '/api/v1/auth', sensitive: true });

  /** A token for a login, which must be stored before it is handed out. */
  async function sign(account: Account, login: string, authTime: number) {
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
        auth_time: authTime,
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

  router.use(async (ctx, next) => {
    ctx.set('cache-control', 'no-store');
    await next();
  });

  router.post('/login', async (ctx) => {
    if (!options.passwordLogin) {
      throw new ServiceError(
        'forbidden',
        'Passwords are not accepted here: use the authorization code flow.',
      );
    }
    const { username, password } = readLogin(await readJson(ctx));
    const verified = await options.checkPassword(ctx, {
      login: username,
      password,
      client: LOGIN_CLIENT,
      isKnownDevice: () => false,
    });
    if (verified === undefined) {
      throw new ServiceError('unauthenticated', 'The username or the password is not right.');
    }
    const { account, generation } = verified;
    const id = logins.newId();
    const { tokenId, response } = await sign(account, id, Math.floor(Date.now() / 1000));
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
    ctx.body = response;
  });

  router.get('/status', async (ctx) => {
    const inQuery = ctx.query.token;
    if (Array.isArray(inQuery)) throw new ServiceError('invalid', 'token must be given only once.');
    const anonymous = ctx.get('authorization') === '' && (inQuery === undefined || inQuery === '');
    if (anonymous) {
      await countUnauthenticated(ctx);
      ctx.body = { authenticated: false, user_id: null };
      return;
    }
    const caller = await authenticate(ctx, inQuery ? `Bearer ${inQuery}` : undefined);
    ctx.body = { authenticated: true, user_id: personIn(caller) ?? null };
  });

  router.post('/logout', async (ctx) => {
    const caller = await authenticate(ctx);
    if (caller.tokenId === undefined) throw new ServiceError('forbidden', 'An API key cannot be logged out.');
    await revocations.write([{ kind: 'token', id: caller.tokenId }]);
    if (caller.grantId !== undefined) {
      const ofLogin = caller.clientId === LOGIN_CLIENT;
      await (ofLogin ? logins.end(caller.subject, caller.grantId) : options.endGrant(caller.grantId));
    }
    await audit.record({
      action: 'sign_out',
      origin: originOf(ctx),
      client: caller.clientId,
      subject: caller.subject,
    });
    ctx.status = 204;
  });

  router.post('/refresh', async (ctx) => {
    const caller = await authenticate(ctx).catch(async (error: unknown) => {
      await endIfReused(ctx, error);
      throw error;
    });
    const { clientId, grantId: id, tokenId, authTime } = caller;
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
    const next = await sign(account, id, authTime);
    // Of several concurrent requests, one gets the new token.
    if (!(await logins.renew({ id, tokenId }, { account, tokenId: next.tokenId }, originOf(ctx)))) {
      throw unauthenticated('The access token has been revoked.', 'invalid_token');
    }
    options.onTokenIssued(LOGIN_CLIENT);
    ctx.body = next.response;
  });

  router.get('/permissions', async (ctx) => {
    const caller = await authenticate(ctx);
    ctx.body = {
      user_id: personIn(caller) ?? null,
      client_id: caller.clientId,
      roles: caller.person === undefined ? [] : [caller.person.role],
      scopes: [...caller.scopes],
    };
  });
  return router;
}

/** The person to whom the token was issued; not the owner of a machine. */
function personIn({ person, subject }: Caller): string | undefined {
  return person?.id === subject ? subject : undefined;
}
