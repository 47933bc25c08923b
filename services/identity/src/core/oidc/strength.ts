import { acrOf, MULTI_FACTOR } from '@gatehouse/tokens/acr';
import { type Acr, isAsStrong } from '@gatehouse/verify/sign-in';
import { type Interaction, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import type { Account } from '../accounts/account.ts';
import type { ProviderAccount } from './claims/provider-account.ts';
import { requestedAcr } from './claims/requested-acr.ts';
import { ACCOUNT_CLIENT } from './clients/client-metadata.ts';
import type { StampedSession } from './epochs/sign-in-epochs.ts';

/** The reason for a sign-in by which somebody who is signed in gets stronger. */
const STRENGTH = 'strength';
/** The reason to set something up, if it is the request that asks for it. */
const UNMET = 'unmet_acr';
/** The prompt by which people set up what a stronger sign-in takes. */
export const SET_UP = 'set_up';
/** The result of an interaction by which somebody goes on without what the application would like. */
export const SKIPPED = 'skipped';

/** The strength that a sign-in lacks; `least` is the acr that would be enough. */
export type Strength = { least: Acr; isEssential: boolean };

/** Whether an account needs a second factor, whatever a request asks for. */
export type RequiredSecondFactor = {
  appliesTo(account: Account, client?: object): boolean;
  isWithout(session: StampedSession): boolean;
  /** Until when the account can be used before it is set up. */
  graceEnds(userId: string): Promise<Date>;
};

/**
 * Asks for a stronger sign-in where a request, the application or the deployment wants one. It is checked each time that a request is
 * about to be completed, so that no step can be left out. People use the factor that they have, or set one up where it is required. A
 * request with prompt=none fails only where it is required.
 */
export function addStrength(
  policy: interactionPolicy.DefaultPolicy,
  {
    strongestFactor,
    secondFactorRequirement,
  }: { strongestFactor(userId: string): Promise<Acr>; secondFactorRequirement: RequiredSecondFactor },
): void {
  const login = policy.get('login');
  if (login === undefined) throw new Error('there is no login prompt');
  // The checks of oidc-provider repeat the same sign-in, and ignore the claim if there are acr_values.
  login.checks.remove('essential_acr');
  login.checks.remove('essential_acrs');
  const { Check, Prompt } = interactionPolicy;

  /** The strength that the request asks for and the sign-in lacks. */
  function missingStrength({ oidc }: KoaContextWithOIDC): Strength | undefined {
    const requested = requestedAcr({ ...oidc.params });
    if (requested === undefined || isAsStrong(acrOf(oidc.amr), requested.least)) return undefined;
    const { least, isEssential } = requested;
    return { least, isEssential };
  }

  /** The person, if a second factor is needed of them, whatever is asked for, and the sign-in is without. */
  function withoutSecondFactor({ oidc }: KoaContextWithOIDC): Account | undefined {
    const { account } = (oidc.account ?? {}) as Partial<ProviderAccount>;
    if (account === undefined || oidc.session === undefined) return undefined;
    return secondFactorRequirement.appliesTo(account, oidc.client) &&
      secondFactorRequirement.isWithout(oidc.session)
      ? account
      : undefined;
  }

  function missing(ctx: KoaContextWithOIDC): Strength | undefined {
    const requested = missingStrength(ctx);
    if (requested?.isEssential || withoutSecondFactor(ctx) === undefined) return requested;
    return { least: MULTI_FACTOR, isEssential: true };
  }
  const details = (ctx: KoaContextWithOIDC) => ({ strength: missing(ctx) });

  login.checks.add(
    new Check(
      STRENGTH,
      'a stronger sign-in is needed',
      'login_required',
      async (ctx: KoaContextWithOIDC) => {
        const { account, prompts, result } = ctx.oidc;
        const strength = missing(ctx);
        if (strength === undefined || account === undefined) return false;
        const { least, isEssential } = strength;
        if (!isEssential && (prompts.has('none') || result?.[SKIPPED] !== undefined)) return false;
        return isAsStrong(await strongestFactor(account.accountId), least);
      },
      details,
    ),
  );

  const needed = new Check(
    UNMET,
    'the account has no sign-in that is as strong',
    'unmet_authentication_requirements',
    (ctx: KoaContextWithOIDC) => missingStrength(ctx)?.isEssential === true,
    details,
  );
  const required = new Check(
    'second_factor',
    'the account has no second factor',
    'interaction_required',
    async (ctx: KoaContextWithOIDC) => {
      const account = withoutSecondFactor(ctx);
      const { client, prompts, result } = ctx.oidc;
      // On our own pages it is set up.
      if (account === undefined || client?.clientId === ACCOUNT_CLIENT) return false;
      const session = ctx.oidc.session as StampedSession;
      if ((result?.[SET_UP] as { later?: boolean } | undefined)?.later) session.isSetUpLater = true;
      const isLater = session.isSetUpLater || prompts.has('none');
      return !(isLater && (await secondFactorRequirement.graceEnds(account.id)).getTime() > Date.now());
    },
    async (ctx: KoaContextWithOIDC) => {
      const graceEnds = await secondFactorRequirement.graceEnds(withoutSecondFactor(ctx)?.id ?? '');
      return {
        ...details(ctx),
        ...(graceEnds.getTime() > Date.now() ? { graceEnds: graceEnds.toISOString() } : {}),
      };
    },
  );
  policy.add(new Prompt({ name: SET_UP }, needed, required), 1);
}

/** Whether somebody who is signed in is asked for what their sign-in lacks, and for nothing else. */
export function isStepUp({ prompt }: Interaction): boolean {
  return prompt.reasons.every((reason) => reason === STRENGTH);
}

/** The strength that the sign-in of an interaction lacks. */
export function strengthOf({ prompt }: Interaction): Strength | undefined {
  return prompt.details.strength as Strength | undefined;
}

/** Whether an interaction asks somebody to set up what its request asks for, and not what is needed of them in any case. */
export function isForRequest({ prompt }: Interaction): boolean {
  return prompt.reasons.includes(UNMET);
}

/** Until when what an interaction asks somebody to set up can wait; undefined if it cannot. */
export function graceOf(details: Interaction): Date | undefined {
  const { graceEnds } = details.prompt.details as { graceEnds?: string };
  return graceEnds === undefined || isForRequest(details) ? undefined : new Date(graceEnds);
}
