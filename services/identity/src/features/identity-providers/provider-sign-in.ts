import type { AddressLimiter } from '@gatehouse/api/http/rate-limit';
import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import type { Logger } from '@gatehouse/core/logger';
import { loginKey } from '@gatehouse/domain/folded-key';
import { html } from '@gatehouse/web/html';
import type { Context } from 'koa';
import type { Interaction } from 'oidc-provider';
import type { Account, Accounts } from '../../core/accounts/account.ts';
import type { AccountMails } from '../../core/accounts/account-mails.ts';
import { type Audit, originOf } from '../../core/audit/audit.ts';
import type { IdentityProvider } from '../../core/foundation/identity-provider.ts';
import { asksForFreshSignIn, SELECT_ACCOUNT } from '../../core/oidc/prompts.ts';
import { ANOTHER_ACCOUNT } from '../../core/oidc/provider-options.ts';
import type { SecondFactors } from '../../core/sessions/second-factors.ts';
import type { SessionEnds } from '../../core/sessions/session-ends.ts';
import type { SignInGenerations } from '../../core/sessions/sign-in-generations.ts';
import type { SignInMessage, SignInMethod } from '../../core/sessions/sign-in-method.ts';
import type { BrowserCookie } from '../../pages/browser-cookie.ts';
import { t } from '../../texts/texts.ts';
import type { AuthorizationStates } from './authorization-state.ts';
import type { LinkedIdentities } from './linked-identities.ts';
import type { LinkedIdentity } from './linked-identity.ts';
import { failureMessage, messagesOf } from './provider-messages.ts';
import type { UpstreamClient } from './upstream-client.ts';
import { isOfDomain, mayUse, type UpstreamIdentity } from './upstream-identity.ts';
import { UPSTREAM_SESSION, type UpstreamSession } from './upstream-session.ts';

/**
 * The identity that a provider has named in a sign-in, while the account with its verified address is not signed in to; a field
 * of the interaction.
 */
export const UNLINKED_IDENTITY = 'unlinkedIdentity';
type Unlinked = {
  provider: string;
  identity: UpstreamIdentity;
  /** The account with its address: only whoever signs in to it links it. */
  accountId: string;
  browser: string;
  until: number;
};
/** The provider that has named somebody in a sign-in who could not be signed in; a field of the interaction. */
export const REFUSED_PROVIDER = 'refusedProvider';
type Kept = {
  [UNLINKED_IDENTITY]?: Unlinked;
  [REFUSED_PROVIDER]?: string;
  [UPSTREAM_SESSION]?: UpstreamSession;
};

const UNLINKED_MS = 10 * 60_000;
/** How long somebody who signs in for the first time, in two tabs, keeps the second from a second account. */
const CREATING_MS = 10_000;

/** Signing in by a provider. */
export function providerSignIn(options: {
  provider: IdentityProvider;
  client: UpstreamClient;
  states: AuthorizationStates;
  linked: LinkedIdentities;
  accounts: Pick<Accounts, 'find' | 'lookUp' | 'create' | 'update' | 'verifyEmail'>;
  generations: Pick<SignInGenerations, 'current'>;
  sessionEnds: Pick<SessionEnds, 'isOver'>;
  secondFactors: Pick<SecondFactors, 'of'>;
  mails: Pick<AccountMails, 'sendVerification'>;
  browser: Pick<BrowserCookie, 'id'>;
  audit: Audit;
  logger: Logger;
  /** For whom accounts are created. */
  signUp: NonNullable<IdentityProvider['signUp']>;
  /** Counts an account created from this address; throws `rate_limited`. */
  countSignUp(address: string): Promise<unknown>;
  useOnce(name: string, until: Date): Promise<boolean>;
  /** Counts failures by address. */
  failures: Pick<AddressLimiter, 'count' | 'refund'>;
}): SignInMethod {
  const { provider, client, states, linked, accounts, generations, mails, browser, audit, logger } = options;
  const { id: name, label } = provider;
  const say = () => messagesOf(label);

  const purposeOf = (ctx: Context, uid: string) => ({
    provider: provider.id,
    context: `sign in ${uid}`,
    browser: browser.id(ctx),
  });

  /** The account that has signed in before and finishes it now; a message if it cannot. */
  async function signInLinked(ctx: Context, identity: UpstreamIdentity) {
    const link = await linked.find(identity);
    if (link === undefined) return undefined;
    const generation = await generations.current(link.userId);
    const account = await accounts.find(link.userId);
    if (account?.status !== 'active') return { userId: link.userId, message: say().inactive };
    // Last: an identity that was disconnected meanwhile fails here. One that is disconnected later ends this sign-in with its others.
    if (!(await linked.used(await refresh(ctx, account, link, identity), identity)))
      return { userId: link.userId, message: say().tooLate };
    return { account, generation };
  }

  /** Takes the name and the picture from the provider that are not the person's own; the link with what is taken. */
  async function refresh(ctx: Context, account: Account, link: LinkedIdentity, identity: UpstreamIdentity) {
    const refreshed = { ...link };
    for (const field of provider.refreshesProfile ? (['name', 'picture'] as const) : []) {
      const value = identity[field];
      if (value === undefined || value === link[field] || account[field] !== link[field]) continue;
      // One that cannot be taken is no reason to turn somebody away.
      const isTaken = await accounts.update(account.id, { [field]: value }).then(
        () => true,
        (error: unknown) => logger.warn({ err: error, field }, 'a profile could not be refreshed'),
      );
      if (!isTaken) continue;
      refreshed[field] = value;
      const by = { origin: originOf(ctx), subject: account.id, actor: null };
      const what = { fields: [field], provider: provider.id };
      await audit.record({ ...by, action: 'account.changed', details: what });
    }
    return refreshed;
  }

  async function createAccount(ctx: Context, identity: UpstreamIdentity, email: string) {
    const origin = originOf(ctx);
    await options.countSignUp(origin.address);
    const isFirst = await options.useOnce(
      `account of ${linked.idOf(identity)}`,
      new Date(Date.now() + CREATING_MS),
    );
    if (!isFirst) return undefined;
    const id = newId('usr');
    const draft = { id, email };
    // A name that is not one here is no reason to turn somebody away.
    const created = await accounts
      .create(identity.name === undefined ? draft : { ...draft, name: identity.name })
      .catch((error) => {
        if (!(error instanceof ServiceError) || !error.details?.some(({ field }) => field === 'name'))
          throw error;
        return accounts.create(draft);
      });
    await audit.record({
      action: 'account.created',
      origin,
      subject: id,
      details: { provider: provider.id },
    });
    const account = identity.isEmailVerified
      ? await accounts.verifyEmail(id, email).catch((error: unknown) => {
          // Somebody else has verified it meanwhile.
          if (error instanceof ServiceError && error.kind === 'conflict') return created;
          throw error;
        })
      : created;
    // Connected to another account meanwhile: this one is found by its address.
    if (!(await linked.link(account, identity, { origin, isNewAccount: true }))) return undefined;
    if (!account.email_verified) await mails.sendVerification(account);
    return account;
  }

  async function signInUnlinked(ctx: Context, details: Interaction, identity: UpstreamIdentity) {
    const { email, isEmailVerified } = identity;
    if (email === undefined) return { message: say().noAddress };
    const owner = isEmailVerified ? await accounts.lookUp(email) : undefined;
    // A username can look like anything.
    if (owner?.email_verified && loginKey(owner.email ?? '') === loginKey(email)) {
      const until = Date.now() + UNLINKED_MS;
      const by = { provider: provider.id, browser: browser.id(ctx) };
      const unlinked = { ...by, identity, accountId: owner.id, until };
      await keep(details, { [UNLINKED_IDENTITY]: unlinked, [REFUSED_PROVIDER]: provider.id });
      return { notice: { ...say().accountExists(email), isNotice: true } };
    }
    const isOpen =
      options.signUp === 'open' || (options.signUp === 'domains' && isOfDomain(provider, identity));
    if (!isOpen) return { message: say().noSignUp };
    try {
      const account = await createAccount(ctx, identity, email);
      return account === undefined ? { message: say().tooLate } : { account, generation: undefined };
    } catch (error) {
      if (error instanceof ServiceError && error.kind === 'invalid') return { message: say().noAddress };
      throw error;
    }
  }

  async function keep(details: Interaction, found: Kept): Promise<void> {
    Object.assign(details, found);
    await details.save(details.exp - Math.floor(Date.now() / 1000));
  }

  function kept(ctx: Context, { [UNLINKED_IDENTITY]: unlinked }: Interaction & Kept): Unlinked | undefined {
    if (unlinked?.provider !== provider.id || unlinked.browser !== browser.id(ctx)) return undefined;
    return unlinked.until > Date.now() ? unlinked : undefined;
  }

  function isFor(address: string) {
    const isOurs =
      provider.domains !== undefined && isOfDomain(provider, { email: address, isEmailVerified: true });
    return isOurs && (provider.allowsPasswords ? 'beside the password' : 'only');
  }

  return {
    name,
    scripts: [],
    fields: () =>
      html`<div class="buttons"><button class="secondary">${t('Sign in with {site}', { site: label })}</button></div>`,
    problem: () => say().refused,

    ...(provider.domains === undefined ? {} : { isFor }),

    async redirect(ctx, { interaction, details, login = '' }) {
      const isFresh = isAskedAgain(details);
      if (isFresh && !provider.reauthenticates) return say().notFresh;
      const returnTo = `/sign-in/${interaction}/methods/${name}`;
      const { state, checks } = states.issue(purposeOf(ctx, interaction), { returnTo, isFresh });
      try {
        const loginHint = isFor(login) ? login : undefined;
        const isOther =
          details.prompt.name === SELECT_ACCOUNT || (details as Kept)[REFUSED_PROVIDER] === provider.id;
        return { to: label, url: await client.authorizationUrl(state, checks, { isOther, loginHint }) };
      } catch (error) {
        return failureMessage(error, { provider, logger });
      }
    },

    async verify(ctx, parameters, { interaction, client: application, details }) {
      const entry = {
        origin: originOf(ctx),
        client: application,
        details: { method: 'provider', provider: provider.id },
      };
      const fail = async (message: SignInMessage, userId?: string) => {
        const whose = userId === undefined ? {} : { subject: userId };
        await audit.record({ ...entry, ...whose, action: 'sign_in.failed', actor: null });
        return message;
      };
      // Before anything is checked or written, so that parallel requests cannot exceed the limit.
      await options.failures.count(entry.origin.address);
      const state = parameters.get('state') ?? '';
      const checks = await states.use(state, purposeOf(ctx, interaction));
      if (checks === undefined) return fail(say().tooLate);
      let identity: UpstreamIdentity;
      try {
        identity = await client.finish(parameters, { ...checks, state });
      } catch (error) {
        return fail(failureMessage(error, { provider, logger }));
      }
      const result = !mayUse(provider, identity)
        ? { message: say().wrongDomain }
        : ((await signInLinked(ctx, identity)) ?? (await signInUnlinked(ctx, details, identity)));
      if ('message' in result) {
        await keep(details, { [REFUSED_PROVIDER]: provider.id });
        return fail(result.message, 'userId' in result ? result.userId : undefined);
      }
      await options.failures.refund(entry.origin.address);
      if ('notice' in result) return result.notice;
      const { account, generation } = result;
      const { subject, sid } = identity;
      await linked.addSession(identity);
      const upstream = { accountId: account.id, provider: provider.id, subject, sid };
      await keep(details, { [UPSTREAM_SESSION]: upstream });
      // RFC 8176 has no value for a sign-in somewhere else.
      const amr = identity.hasSecondFactor ? ['mfa'] : [];
      const factors = identity.hasSecondFactor ? [] : await options.secondFactors.of(account.id);
      // One that goes on with a second factor is recorded when that is right.
      if (factors.length === 0) {
        await audit.record({ ...entry, action: 'sign_in.succeeded', subject: account.id });
      }
      // The provider may have asked nobody anything: a session there must not do what takes a fresh sign-in here.
      return { account, generation, amr, factors, provider: provider.id, isUnconfirmed: !checks.isFresh };
    },

    notice(ctx, details) {
      const unlinked = kept(ctx, details);
      if (unlinked === undefined) return undefined;
      const { accountId, identity } = unlinked;
      return { ...say().accountExists(identity.email ?? ''), accountId };
    },

    async signedIn(ctx, details, { account, generation }) {
      const unlinked = kept(ctx, details);
      if (unlinked?.accountId !== account.id) return undefined;
      const origin = originOf(ctx);
      if (!(await linked.link(account, unlinked.identity, { origin }))) {
        const owner = (await linked.find(unlinked.identity))?.userId;
        return owner === account.id ? undefined : say().linkedElsewhere;
      }
      // If this sign-in has ended meanwhile, its end may have removed the links before this one was there.
      const isOver = await options.sessionEnds.isOver({ accountId: account.id, generation });
      const current = isOver ? undefined : await accounts.find(account.id);
      if (current?.sign_in_epoch !== account.sign_in_epoch) await linked.unlink(account.id, origin);
      return undefined;
    },

    isSetUp: async (userId) => (await linked.of(userId)) !== undefined,
  };
}

/** Whether the person has to prove again who they are: a session of theirs, here or at the provider, is not enough. */
function isAskedAgain(details: Interaction): boolean {
  if (details.params.max_age !== undefined) return true;
  return asksForFreshSignIn(details) && details.params[ANOTHER_ACCOUNT] === undefined;
}
