import { randomBytes } from 'node:crypto';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { requestInfo } from '@gatehouse/server/requests';
import type { Context } from 'koa';
import Provider, {
  errors,
  type Grant,
  interactionPolicy,
  type KoaContextWithOIDC,
  type Session,
} from 'oidc-provider';
import type { Account } from '../../accounts/account.ts';
import type { ProviderAccount } from '../claims/provider-account.ts';
import { addConsentEpoch } from './consent-epochs.ts';
import { CONNECTED_IN, storeFields } from './store-fields.ts';

/** The browser in which somebody signed in; shown to them, so that they recognise it. */
export type Device = {
  address: string;
  userAgent: string;
  signedInAt: string;
  /**
   * Whether the sign-in does not count as a fresh one: without the second factor, in a remembered browser, or with another
   * provider that has not asked the person to sign in.
   */
  isUnconfirmed?: boolean;
  /** Whether the second factor was not asked for, as the browser is remembered. */
  isRemembered?: boolean;
  /** The id of the passkey with which they signed in. */
  passkey?: string;
};

/** The fields that we add to oidc-provider's sessions and grants. */
type Stamped = { epoch?: number };
export type StampedSession = Session &
  Stamped & {
    device?: Device;
    /** Whether its owner sets up a second factor later, as they can in the days of grace. */
    isSetUpLater?: boolean;
  };

/** A login as our sign-in page passes it to oidc-provider. */
export type SignIn = {
  accountId: string;
  remember: boolean;
  amr: string[];
  /**
   * When it was, or the sign-in that this one makes stronger, in seconds since the epoch. The later pages of a request send the login
   * once more, which must not make it a newer one.
   */
  ts: number;
  epoch: number;
  /** The generation of the account's sign-ins before the person was verified. */
  generation: string | undefined;
  /** The id of the browser in which the person signed in (see pages/browser-cookie.ts). */
  browser: string;
  device: Device;
};

/** The first factor of a sign-in that goes on with a second one; a field of its interaction. */
export type FirstFactor = Pick<SignIn, 'accountId' | 'epoch' | 'generation' | 'amr' | 'browser'> & {
  /** See Verified. */
  provider?: string;
  isUnconfirmed?: boolean;
  isBreached?: boolean;
  /** In milliseconds since the epoch. */
  until: number;
};
export const FIRST_FACTOR = 'firstFactor';

/**
 * A password change and a deactivation end every earlier sign-in: sessions and grants store the account's sign_in_epoch
 * and are valid only while it is current. Deleting them would not be enough, as one may be in use.
 */
export function trackSignInEpochs(provider: Provider, browserId: (ctx: Context) => string): void {
  storeFields(provider.Session, ['epoch', 'device', 'isSetUpLater', 'knownAuthorizations']);
  storeFields(provider.Grant, ['epoch', 'sessionUid', CONNECTED_IN]);
  storeFields(provider.Interaction, [FIRST_FACTOR]);
  // By default it has the session under the old id destroyed, which would end it (see oidc-adapter.ts).
  provider.Session.prototype.resetIdentifier = function reset(this: { jti: string; touched: boolean }) {
    this.jti = randomBytes(32).toString('base64url');
    this.touched = true;
  };
  // A page of a sibling domain can plant the cookies of its own sign-in in another browser: they have no __Host- prefix, as
  // they are for some paths only. A person who enters the password there must not sign the other browser in.
  const { loginAccount } = provider.Session.prototype;
  provider.Session.prototype.loginAccount = function logIn(this: Session, details) {
    const { ctx } = Provider;
    const login = ctx?.oidc.entities.Interaction?.result?.login as SignIn | undefined;
    if (ctx === undefined || login?.browser !== browserId(ctx)) {
      throw new errors.SessionNotFound('the person signed in in another browser');
    }
    loginAccount.call(this, details);
    (this as StampedSession).isSetUpLater = false;
  };
  keepConfirmedTimes(provider);
}

/**
 * An unconfirmed sign-in (see Device) puts no `auth_time` in tokens and counts as older than any `max_age`. Otherwise a session at another
 * provider, or a remembered browser, would pass for a fresh sign-in.
 */
function keepConfirmedTimes({ Session: { prototype } }: Provider): void {
  const { authTime, past } = prototype;
  const isUnconfirmed = ({ device }: StampedSession) => device?.isUnconfirmed === true;
  prototype.authTime = function time(this: StampedSession) {
    return isUnconfirmed(this) ? undefined : authTime.call(this);
  };
  prototype.past = function isPast(this: StampedSession, age) {
    return isUnconfirmed(this) || past.call(this, age);
  };
}

/** Whether the session or grant of this request is of the account's current sign-in epoch. */
export function areSignInsCurrent(ctx: KoaContextWithOIDC, account: Account, ofToken: boolean): boolean {
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

/** Makes a grant one of a session, with which it ends: a session itself knows only the last one of each application. */
export function stampGrant(grant: Grant, account: Account, session: { uid: string } | undefined): Grant {
  return Object.assign(stamp(grant, account), { sessionUid: session?.uid });
}

/**
 * Makes a grant that of a device, which a person has connected in a session: it outlives a sign-out, but ends with what the session began
 * with, such as a passkey (see core/sessions/session-ends.ts).
 */
export function stampDeviceGrant(grant: Grant, account: Account, session: Session | undefined): Grant {
  // Without its id, which is a credential, and what it knows of other applications.
  const {
    jti: _id,
    state: _state,
    authorizations: _all,
    knownAuthorizations: _known,
    ...began
  } = {
    ...(session as Record<string, unknown> | undefined),
  };
  return Object.assign(stamp(grant, account), { [CONNECTED_IN]: began });
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
  addConsentEpoch(policy);
  return policy;
}

/** The login by this request. */
export function signInOf(
  ctx: Context,
  {
    account,
    generation,
    browser,
    amr: [...amr],
    isUnconfirmed = false,
    isRemembered = false,
    passkey,
    since = Math.floor(Date.now() / 1000),
  }: { account: Account } & Pick<SignIn, 'generation' | 'browser'> & {
      amr: readonly string[];
      isUnconfirmed?: boolean;
      isRemembered?: boolean;
      passkey?: string;
      since?: number | undefined;
    },
): SignIn {
  return {
    accountId: account.id,
    remember: true,
    amr: [...amr],
    ts: since,
    epoch: account.sign_in_epoch,
    generation,
    browser,
    device: {
      address: requestInfo(ctx.req).address,
      userAgent: ctx.get('user-agent').slice(0, 300),
      signedInAt: new Date().toISOString(),
      ...(isUnconfirmed ? { isUnconfirmed } : {}),
      ...(isRemembered ? { isRemembered } : {}),
      ...omitUndefined({ passkey }),
    },
  };
}
