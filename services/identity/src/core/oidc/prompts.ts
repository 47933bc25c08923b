import { parseScope } from '@gatehouse/tokens/scopes';
import type Provider from 'oidc-provider';
import { type Interaction, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import { isFirstParty } from './clients/client-metadata.ts';

/** The prompt by which people choose between the account of this browser and another one. */
export const SELECT_ACCOUNT = 'select_account';
/** The values of `prompt` that are known (OpenID Connect Core §3.1.2.1). */
export const PROMPTS: readonly string[] = ['none', 'login', 'consent', SELECT_ACCOUNT];

/** Adds the choice of an account, before everything that is asked of that account. */
export function addAccountChoice(policy: interactionPolicy.DefaultPolicy): void {
  policy.add(new interactionPolicy.Prompt({ name: SELECT_ACCOUNT, requestable: true }), 0);
}

/**
 * Ignores unknown values, as OpenID Connect Core §3.1.2.1 suggests; together with `none`, every other value is an error there. A native
 * application always gets a consent page (RFC 8252 §8.6), as if it had asked for one, which offline_access takes (Core §11).
 */
export function ignoreUnknownPrompts(provider: Provider): void {
  Object.defineProperty(provider.OIDCContext.prototype, 'prompts', {
    get(this: KoaContextWithOIDC['oidc']): Set<string> {
      const names = promptsOf({ ...this.params });
      const isNative = this.client?.applicationType === 'native';
      return new Set(isNative && !names.includes('none') ? [...names, 'consent'] : names);
    },
  });
}

/** Whether the person who signs in must prove all factors again. */
export function asksForFreshSignIn({ prompt, params }: Interaction): boolean {
  // The choice of an account comes before the reasons to sign in are examined.
  if (prompt.name === SELECT_ACCOUNT) return isRequestForFreshSignIn(params);
  return prompt.reasons.some((reason) => [DEVICE_LOGIN, 'login_prompt', 'max_age'].includes(reason));
}

/** The reason for which a device has somebody sign in again. */
const DEVICE_LOGIN = 'device_login';

/**
 * oidc-provider makes `prompt=login` of `max_age=0`, which it then ignores where a device asks: the sign-in of the browser would do. For
 * the command line, with any `max_age`: that sign-in was for something else.
 */
export function addDevicePrompt(policy: interactionPolicy.DefaultPolicy): void {
  policy.get('login')?.checks.add(
    new interactionPolicy.Check(
      DEVICE_LOGIN,
      'the device asks for a fresh sign-in',
      'login_required',
      ({ oidc }: KoaContextWithOIDC) => {
        const params = { ...oidc.entities.DeviceCode?.params };
        const isAsked = isFirstParty(oidc.client?.clientId ?? '')
          ? isRequestForFreshSignIn(params)
          : promptsOf(params).includes('login');
        return isAsked && oidc.result?.login === undefined;
      },
    ),
  );
}

/** Whether the parameters of a request ask for a fresh sign-in. oidc-provider makes `prompt=login` of `max_age=0`. */
export function isRequestForFreshSignIn(params: { max_age?: unknown; prompt?: unknown }): boolean {
  return params.max_age !== undefined || promptsOf(params).includes('login');
}

function promptsOf({ prompt }: { prompt?: unknown }): string[] {
  const names = parseScope(String(prompt ?? ''));
  return names.includes('none') ? names : names.filter((name) => PROMPTS.includes(name));
}
