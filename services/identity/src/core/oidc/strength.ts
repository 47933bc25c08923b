import { type Acr, acrOf, isAsStrong } from '@gatehouse/tokens/acr';
import { type Interaction, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import { requestedAcr } from './claims/requested-acr.ts';

/** The reason for a sign-in by which somebody who is signed in gets stronger. */
const STRENGTH = 'strength';
/** The prompt by which people set up what a stronger sign-in takes. */
export const SET_UP = 'set_up';
/** The result of an interaction by which somebody goes on without what the application would like. */
export const SKIPPED = 'skipped';

/** What a sign-in lacks; `least` is the acr that would do. */
export type Strength = { least: Acr; isEssential: boolean };

/** What the sign-in of this request lacks; undefined if it is strong enough. */
function missing({ params, amr }: KoaContextWithOIDC['oidc']): Strength | undefined {
  const requested = requestedAcr({ ...params });
  if (requested === undefined || isAsStrong(acrOf(amr), requested.least)) return undefined;
  const { least, isEssential } = requested;
  return { least, isEssential };
}

/**
 * Leads people to a stronger sign-in where a request asks for one, each time that it is about to be answered, so that no
 * step can be left out: to what they have set up, or else, for an essential acr, to setting it up. A request that must not
 * ask anything is refused only for an essential one.
 */
export function addStrength(
  policy: interactionPolicy.DefaultPolicy,
  { strongestFactor }: { strongestFactor(userId: string): Promise<Acr> },
): void {
  const login = policy.get('login');
  if (login === undefined) throw new Error('there is no login prompt');
  // Its own ask for the same sign-in again and again, and forget the claim where there are acr_values as well.
  login.checks.remove('essential_acr');
  login.checks.remove('essential_acrs');
  const { Check, Prompt } = interactionPolicy;
  const details = ({ oidc }: KoaContextWithOIDC) => ({ strength: missing(oidc) });
  login.checks.add(
    new Check(
      STRENGTH,
      'a stronger sign-in is needed',
      'login_required',
      async ({ oidc }: KoaContextWithOIDC) => {
        const { accountId } = oidc.session ?? {};
        const strength = missing(oidc);
        if (strength === undefined || accountId === undefined || oidc.account === undefined) return false;
        const { least, isEssential } = strength;
        if (!isEssential && (oidc.prompts.has('none') || oidc.result?.[SKIPPED] !== undefined)) return false;
        return isAsStrong(await strongestFactor(accountId), least);
      },
      details,
    ),
  );
  const unmet = new Check(
    'unmet_acr',
    'the account has no sign-in that is as strong',
    'unmet_authentication_requirements',
    ({ oidc }: KoaContextWithOIDC) => missing(oidc)?.isEssential === true,
    details,
  );
  policy.add(new Prompt({ name: SET_UP }, unmet), 1);
}

/** Whether somebody who is signed in is asked for what their sign-in lacks, and for nothing else. */
export function isStepUp({ prompt }: Interaction): boolean {
  return prompt.reasons.every((reason) => reason === STRENGTH);
}

/** What the sign-in of an interaction lacks. */
export function strengthOf({ prompt }: Interaction): Strength | undefined {
  return prompt.details.strength as Strength | undefined;
}
