import { randomBytes } from 'node:crypto';
import { requestInfo } from '@gatehouse/kit/requests';
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { type Grant, interactionPolicy, type KoaContextWithOIDC, type Session } from 'oidc-provider';
import type { Account } from '../accounts/account.ts';
import { ACR } from './claims-parameter.ts';
import type { ProviderAccount } from './provider-account.ts';

/** What we know about the browser in which somebody signed in; shown to them, so that they recognise it. */
export type Device = { address: string; userAgent: string; signedInAt: string };

/** What we add to oidc-provider's sessions and grants. */
type Stamped = { epoch?: number };
export type StampedSession = Session & Stamped & { device?: Device };

/** A login as our sign-in page passes it to oidc-provider. */
export type SignIn = {
  accountId: string;
  remember: boolean;
  amr: string[];
  acr: string;
  epoch: number;
  device: Device;
};

export type SignInEpochs = {
  /** Whether the session or grant of this request is of the account's current sign-in epoch. */
  areCurrent(ctx: KoaContextWithOIDC, account: Account, ofToken: boolean): boolean;
};

/**
 * A password change and a deactivation end every earlier sign-in: sessions and grants store the account's sign_in_epoch
 * and are valid only while it is current. Deleting them would not be enough, as one may be in use.
 */
export function trackSignInEpochs(provider: Provider): SignInEpochs {
  storeFields(provider.Session, ['epoch', 'device']);
  storeFields(provider.Grant, ['epoch']);
  // By default it has the session under the old id destroyed, which would end it (see oidc-adapter.ts).
  provider.Session.prototype.resetIdentifier = function reset(this: { jti: string; touched: boolean }) {
    this.jti = randomBytes(32).toString('base64url');
    this.touched = true;
  };
  return {
    areCurrent(ctx, account, ofToken) {
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

/** Models store only the properties that they list. */
function storeFields(model: unknown, names: readonly string[]): void {
  const own = (model as { IN_PAYLOAD: string[] }).IN_PAYLOAD;
  Object.defineProperty(model, 'IN_PAYLOAD', { value: [...own, ...names] });
}

/** oidc-provider's own policy, with one more reason to sign in: the account is gone, or the sign-in has ended. */
export function signInPolicy() {
  const policy = interactionPolicy.base();
  policy.get('login')?.checks.add(
    new interactionPolicy.Check(
      'sign_in_over',
      'the sign-in has ended',
      'login_required',
      ({ oidc }: KoaContextWithOIDC) => {
        const account = oidc.entities.Account as ProviderAccount | undefined;
        return oidc.session?.accountId !== undefined && account === undefined;
      },
    ),
  );
  return policy;
}

/** The login by this request. */
export function signInOf(ctx: Context, account: Account): SignIn {
  return {
    accountId: account.id,
    remember: true,
    amr: ['pwd'],
    acr: ACR,
    epoch: account.sign_in_epoch,
    device: {
      address: requestInfo(ctx.req).address,
      userAgent: ctx.get('user-agent').slice(0, 300),
      signedInAt: new Date().toISOString(),
    },
  };
}
