import type { AddressLimiter } from '@gatehouse/api/http/rate-limit';
import { PHISHING_RESISTANT } from '@gatehouse/tokens/acr';
import type { Context } from 'koa';
import { type Audit, originOf } from '../../core/audit/audit.ts';
import type { SignInMethod } from '../../core/sessions/sign-in-method.ts';
import type { BrowserCookie } from '../../pages/browser-cookie.ts';
import { t } from '../../texts/texts.ts';
import { amrOf } from './passkey.ts';
import { signInFields } from './passkey-pages.ts';
import type { Passkeys } from './passkeys.ts';

/** The name of the method, in paths and in the audit log. */
export const PASSKEY_METHOD = 'passkey';

/** Signing in with a passkey, which says by itself whose it is. */
export function passkeySignIn(options: {
  passkeys: Passkeys;
  audit: Audit;
  browser: Pick<BrowserCookie, 'id'>;
  script: string;
  /** Counts failures by address, also those in browsers that are known. */
  failures: Pick<AddressLimiter, 'count' | 'refund'>;
}): SignInMethod {
  const { passkeys, audit, browser, failures } = options;
  /** A response is good in the browser and for the sign-in that the challenge was made for. */
  const contextOf = (ctx: Context, interaction: string) => `sign in ${interaction} ${browser.id(ctx)}`;

  return {
    name: PASSKEY_METHOD,
    acr: PHISHING_RESISTANT,
    scripts: [options.script],
    fields: (ctx, interaction) => signInFields(passkeys.requestOptions(contextOf(ctx, interaction))),
    problem: () => ({
      title: t('This passkey did not work'),
      advice: t(
        'It may have been removed from your account. Sign in with your password, then look at the passkeys in your account.',
      ),
    }),

    async verify(ctx, form, { interaction, client }) {
      const context = contextOf(ctx, interaction);
      const origin = originOf(ctx);
      // Before the check, so that parallel requests cannot exceed the limit.
      await failures.count(origin.address);
      const result = await passkeys.authenticate(form.get('passkey') ?? '', context);
      const entry = { origin, client, details: { method: PASSKEY_METHOD } };
      if (result.account === undefined) {
        const whose = result.userId === undefined ? {} : { subject: result.userId };
        await audit.record({ ...entry, ...whose, action: 'sign_in.failed', actor: null });
        return undefined;
      }
      await failures.refund(origin.address);
      const { account, passkey, generation } = result;
      const details = { ...entry.details, passkey: passkey.id };
      await audit.record({ ...entry, action: 'sign_in.succeeded', subject: account.id, details });
      return { account, generation, amr: amrOf(passkey), passkey: passkey.id };
    },

    isSetUp: async (userId) => (await passkeys.list(userId)).length > 0,
  };
}
