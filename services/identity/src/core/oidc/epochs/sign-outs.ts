import Provider, { errors, type KoaContextWithOIDC, type Session } from 'oidc-provider';
import { type Origin, originOf } from '../../audit/audit.ts';
import { IS_UNKNOWN } from '../clients/client-metadata.ts';
import type { SignIn } from './sign-in-epochs.ts';

/** That somebody's session at an application has ended. `sid` is the id by which the application knows it. */
export type Logout = { clientId: string; accountId: string; sid: string; consentEpoch: number };

/** The callback of RP-initiated logout when the person has confirmed it. */
export type SignOuts = {
  /**
   * Ends the session with this uid, at the request of an application if it is known. With `keepsOfflineAccess`, the person has signed out:
   * native applications with offline_access stay signed in, but for the one that asks (Back-Channel Logout §2.7).
   */
  signOut(
    uid: string,
    by: { origin: Origin; client?: string },
    keepsOfflineAccess?: boolean,
  ): Promise<unknown>;
  /** Ends the grants of the session with this uid that this application has. Durable when it resolves. */
  endGrantsOfSession(accountId: string, uid: string, clientId: string): Promise<void>;
  /** Whether all sessions of the account have ended since the sign-in began. */
  isOver(signIn: Pick<SignIn, 'accountId' | 'generation'>): Promise<boolean>;
  /** Ends a session that must not begin, or goes on under another id; that is not recorded. */
  discard(uid: string): Promise<void>;
};

/**
 * Sessions end in one place, whatever ends them (see core/sessions/session-ends.ts): by default, oidc-provider ends them by
 * itself.
 */
export function routeSignOuts(
  provider: Provider,
  signOuts: SignOuts,
  signedOut: (ctx: KoaContextWithOIDC) => void | Promise<void>,
): void {
  // Where nobody is signed in, there is nothing to confirm. oidc-provider would send a page of its own, without our look and languages.
  provider.use(async (ctx, next) => {
    await next();
    const { route, params, session, client } = (ctx as Partial<KoaContextWithOIDC>).oidc ?? {};
    if (route !== 'end_session' || session?.accountId !== undefined || ctx.status >= 400) return;
    const registered = URL.parse(String(params?.post_logout_redirect_uri));
    // To a client that nobody knows, it would be a link that leads elsewhere (RFC 9700 §4.11.2).
    if (registered === null || client?.[IS_UNKNOWN] === true) return signedOut(ctx as KoaContextWithOIDC);
    if (params?.state !== undefined) registered.searchParams.set('state', String(params.state));
    ctx.status = 303;
    ctx.redirect(registered.href);
  });
  // oidc-provider ends the last of the application's grants only: in several tabs it may have got more.
  provider.use(async (ctx, next) => {
    await next();
    const { route, params, session, entities } = ctx.oidc ?? {};
    if (route !== 'end_session_confirm' || params?.logout !== undefined || ctx.status >= 400) return;
    const clientId = entities?.Client?.clientId;
    if (session?.accountId === undefined || clientId === undefined) return;
    await signOuts.endGrantsOfSession(session.accountId, session.uid, clientId);
  });
  // A client that cannot be looked up keeps nobody signed in: what it has ends without it.
  const find = provider.Client.find.bind(provider.Client);
  provider.Client.find = async (id) => {
    const found = find(id);
    return Provider.ctx?.oidc?.route === 'end_session_confirm' ? found.catch(() => undefined) : found;
  };
  const { save } = provider.Session.prototype;
  provider.Session.prototype.save = async function saveSession(this: { uid: string }, ttl: number) {
    const id = await save.call(this as never, ttl);
    const signIn = Provider.ctx?.oidc.result?.login as SignIn | undefined;
    // After it is stored: from then on, whatever ends all sessions finds this one.
    if (signIn !== undefined && (await signOuts.isOver(signIn))) {
      await signOuts.discard(this.uid);
      throw new errors.SessionNotFound('all sessions of the account have ended since the sign-in began');
    }
    return id;
  };
  provider.Session.prototype.destroy = async function destroy(this: { uid: string; destroyed?: boolean }) {
    const { ctx } = Provider;
    if (ctx === undefined) throw new Error('a session is destroyed without a request');
    const { clientId, postLogoutRedirectUri } = (ctx.oidc.session?.state ?? {}) as {
      clientId?: string;
      postLogoutRedirectUri?: string;
    };
    // It goes on with an authorization request when another account has signed in.
    const isSwitch = postLogoutRedirectUri?.startsWith(ctx.oidc.urlFor('authorization')) === true;
    const client = clientId === undefined ? {} : { client: clientId };
    await signOuts.signOut(this.uid, { origin: originOf(ctx), ...client }, !isSwitch);
    this.destroyed = true;
  };
}

/** Ends what a device was allowed in a sign-in that has ended meanwhile: oidc-provider stores the session after the device code. */
export function endDeviceWithoutSession(
  { Session: { prototype } }: Provider,
  store: { endGrant(id: string): Promise<unknown> },
): void {
  const { save } = prototype;
  prototype.save = async function saveSession(this: Session, ttl) {
    try {
      return await save.call(this, ttl);
    } catch (error) {
      const { grantId } = Provider.ctx?.oidc.entities.DeviceCode ?? {};
      if (grantId !== undefined) await store.endGrant(grantId);
      throw error;
    }
  };
}
