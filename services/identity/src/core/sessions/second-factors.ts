import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { PHISHING_RESISTANT } from '@gatehouse/tokens/acr';
import type { Context } from 'koa';
import type { Interaction } from 'oidc-provider';
import type { Account, Accounts } from '../accounts/account.ts';
import type { AccountMails } from '../accounts/account-mails.ts';
import { codesGuessed } from '../accounts/account-notices.ts';
import { type Audit, type Origin, originOf } from '../audit/audit.ts';
import type { SignInThrottle } from '../limits/sign-in-throttle.ts';
import { FIRST_FACTOR, type FirstFactor } from '../oidc/epochs/sign-in-epochs.ts';
import { isStepUp, strengthOf } from '../oidc/strength.ts';
import type { BrowserSessions } from './browser-sessions.ts';
import type { LostFactors, SecondFactor, SecondFactorSource } from './second-factor.ts';
import type { SessionEnds } from './session-ends.ts';
import type { SignInGenerations } from './sign-in-generations.ts';
import type { Verified, WithFactors } from './verified.ts';

export type SecondFactors = {
  of(userId: string): Promise<SecondFactor[]>;
  /**
   * The sign-in with the second factor, if the code is right for one of the account's. Audited; throws `rate_limited` after ten
   * guesses in 15 minutes, which are counted for all replicas together.
   */
  verify(
    ctx: Context,
    verified: WithFactors,
    attempt: { code: string; client: string; isKnownDevice: boolean },
  ): Promise<Verified | undefined>;
  /** Stores at the server that the first factor is proved, for this sign-in and this browser. Audited, as it may stop here. */
  hold(ctx: Context, interaction: Interaction, verified: Verified): Promise<void>;
  /**
   * The account whose first factor is proved in this sign-in; undefined if that is too long ago, or was ended since. Where
   * a sign-in is to become stronger, it is that of the session, and keeps its age, as nothing of it is proved again. A second
   * factor does not confirm a first one that nobody was asked for.
   */
  held(ctx: Context, interaction: Interaction): Promise<WithFactors | undefined>;
};

type Held = Interaction & { [FIRST_FACTOR]?: FirstFactor };

/** How long the second factor may take after the first, in milliseconds. */
const HELD_MS = 10 * 60_000;
/** Longer than any code that is right. */
const MAX_CODE = 64;

export function createSecondFactors(options: {
  sources: readonly SecondFactorSource[];
  lostFactors: readonly Pick<LostFactors, 'stop'>[];
  accounts: Pick<Accounts, 'find'>;
  sessions: Pick<BrowserSessions, 'find'>;
  generations: Pick<SignInGenerations, 'current'>;
  sessionEnds: Pick<SessionEnds, 'isOver'>;
  throttle: Pick<SignInThrottle, 'countCode'>;
  browser: { id(ctx: Context): string };
  mails: Pick<AccountMails, 'notify'>;
  audit: Audit;
}): SecondFactors {
  const { sources, accounts, sessionEnds, throttle, browser, mails, audit } = options;

  const of = async (userId: string) => (await Promise.all(sources.map((it) => it.of(userId)))).flat();

  async function rightFactor(factors: readonly SecondFactor[], code: string, origin: Origin) {
    const plain = code.replaceAll(/[\s-]/g, '').toUpperCase();
    if (plain === '' || plain.length > MAX_CODE) return undefined;
    for (const factor of factors) if (await factor.verify(plain, origin)) return factor;
    return undefined;
  }

  /** The account that is signed in, and can become stronger by a code. */
  async function ofSession(ctx: Context, details: Interaction): Promise<WithFactors | undefined> {
    const accountId = details.session?.accountId ?? '';
    // Before the session is read: what ends all sessions from here on ends this step, too.
    const generation = await options.generations.current(accountId);
    const { account, session } = (await options.sessions.find(ctx)) ?? {};
    if (account === undefined || account.id !== accountId) return undefined;
    const factors = strengthOf(details)?.least === PHISHING_RESISTANT ? [] : await of(accountId);
    const { amr = [], loginTs: since, device } = session ?? {};
    // The code is all that a password in a remembered browser lacked.
    const isComplete = device?.isRemembered === true && amr.includes('pwd');
    const isUnconfirmed = device?.isUnconfirmed === true && !isComplete;
    return { account, generation, amr, since, isUnconfirmed, factors };
  }

  return {
    of,
    async verify(
      ctx,
      { factors, account, generation, amr, provider, since, isUnconfirmed = false, isBreached },
      { code, client, isKnownDevice },
    ) {
      const origin = originOf(ctx);
      const entry = { origin, client, subject: account.id };
      const { isLast, wasRight } = await throttle.countCode({
        id: account.id,
        epoch: account.sign_in_epoch,
        isKnownDevice,
      });
      const factor = await rightFactor(factors, code, origin);
      if (factor === undefined) {
        const details = { second_factor: isLast ? 'locked' : 'wrong' };
        await audit.record({ ...entry, action: 'sign_in.failed', actor: null, details });
        // A person who gets here knows the password.
        if (isLast) {
          void mails.notify(account.id, codesGuessed({ at: new Date(), address: origin.address }));
        }
        return undefined;
      }
      await wasRight();
      for (const lost of options.lostFactors) await lost.stop(account.id, origin);
      const details = omitUndefined({ provider, second_factor: factor.name });
      await audit.record({ ...entry, action: 'sign_in.succeeded', details });
      return { account, generation, amr: [...amr, ...factor.amr, 'mfa'], since, isUnconfirmed, isBreached };
    },

    async hold(ctx, interaction: Held, { account, generation, amr, provider, isUnconfirmed, isBreached }) {
      interaction[FIRST_FACTOR] = {
        accountId: account.id,
        epoch: account.sign_in_epoch,
        generation,
        amr: [...amr],
        ...omitUndefined({ provider, isUnconfirmed, isBreached }),
        browser: browser.id(ctx),
        until: Date.now() + HELD_MS,
      };
      await interaction.save(interaction.exp - Math.floor(Date.now() / 1000));
      const client = String(interaction.params.client_id);
      await audit.record({
        action: 'sign_in.challenged',
        origin: originOf(ctx),
        client,
        subject: account.id,
        actor: null,
      });
    },

    async held(ctx, interaction: Held) {
      const { [FIRST_FACTOR]: first } = interaction;
      if (first === undefined && isStepUp(interaction)) return ofSession(ctx, interaction);
      if (first === undefined || first.until <= Date.now() || first.browser !== browser.id(ctx))
        return undefined;
      const { accountId, epoch, generation, amr, provider, isUnconfirmed = false, isBreached } = first;
      const account: Account | undefined = await accounts.find(accountId);
      // A new password has ended the sign-in.
      if (account?.status !== 'active' || account.sign_in_epoch !== epoch) return undefined;
      if (await sessionEnds.isOver({ accountId, generation })) return undefined;
      const factors = await of(accountId);
      // An admin may just have removed them: the password alone is then enough, but has to be entered again.
      return factors.length === 0
        ? undefined
        : { account, generation, amr, provider, isUnconfirmed, isBreached, factors };
    },
  };
}
