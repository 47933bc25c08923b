import { requestInfo } from '@gatehouse/kit/requests';
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { type Grant, interactionPolicy, type KoaContextWithOIDC, type Session } from 'oidc-provider';
import type { Account } from '../accounts/account.ts';
import type { Person } from './person.ts';

/** What we know of the browser in which somebody signed in; shown to them, so that they know it again. */
export type Device = { address: string; userAgent: string; signedInAt: string };

/** What we keep in oidc-provider's sessions and grants beside its own. */
type Stamped = { epoch?: number };
export type StampedSession = Session & Stamped & { device?: Device };

/** A login as our sign-in page hands it to oidc-provider. */
export type SignIn = { accountId: string; remember: boolean; amr: string[]; epoch: number; device: Device };

export type SignInEpochs = {
  /** Whether what this request builds on is of the account's current sign-in epoch. */
  holds(ctx: KoaContextWithOIDC, account: Account, ofToken: boolean): boolean;
};

/**
 * A password change and a deactivation end every sign-in before them: sessions and grants carry the account's
 * sign_in_epoch of their beginning, and count only while it is the account's. Seconds would be too coarse, and
 * to delete them is not enough: one may just be in use.
 */
export function keepSignInEpochs(provider: Provider): SignInEpochs {
  keep(provider.Session, ['epoch', 'device']);
  keep(provider.Grant, ['epoch']);
  return {
    holds(ctx, account, ofToken) {
      if (ofToken) {
        const grant = ctx.oidc.entities.Grant;
        return grant === undefined || isCurrent(grant, account);
      }
      const session = ctx.oidc.session as StampedSession | undefined;
      const login = ctx.oidc.result?.login as SignIn | undefined;
      if (session === undefined) return true;
      if (login?.accountId === account.id) {
        session.epoch = login.epoch;
        session.device = login.device;
      }
      return isCurrent(session, account);
    },
  };
}

/** Whether a session or grant is of the account's current sign-in epoch. */
export function isCurrent(stamped: Session | Grant, account: Account): boolean {
  return ((stamped as Stamped).epoch ?? 0) >= account.sign_in_epoch;
}

/** Makes a session or grant one of the account's current sign-in epoch. */
export function stamp<T extends Session | Grant>(model: T, account: Account): T {
  (model as Stamped).epoch = account.sign_in_epoch;
  return model;
}

/** Models keep only the properties that they name. */
function keep(model: unknown, names: readonly string[]): void {
  const own = (model as { IN_PAYLOAD: string[] }).IN_PAYLOAD;
  Object.defineProperty(model, 'IN_PAYLOAD', { value: [...own, ...names] });
}

/** oidc-provider's own policy, and one reason more to sign in: the account is gone, or the sign-in is over. */
export function signInPolicy() {
  const policy = interactionPolicy.base();
  policy.get('login')?.checks.add(
    new interactionPolicy.Check(
      'sign_in_over',
      'the sign-in has ended',
      'login_required',
      ({ oidc }: KoaContextWithOIDC) => {
        const account = oidc.entities.Account as Person | undefined;
        return oidc.session?.accountId !== undefined && account === undefined;
      },
    ),
  );
  return policy;
}

/** A login for oidc-provider, as of this request. */
export function signInOf(ctx: Context, account: Account): SignIn {
  return {
    accountId: account.id,
    remember: true,
    amr: ['pwd'],
    epoch: account.sign_in_epoch,
    device: {
      address: requestInfo(ctx.req).address,
      userAgent: ctx.get('user-agent').slice(0, 300),
      signedInAt: new Date().toISOString(),
    },
  };
}
