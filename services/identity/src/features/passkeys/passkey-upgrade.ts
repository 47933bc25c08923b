import { ServiceError } from '@gatehouse/core/errors';
import { deviceName } from '@gatehouse/web/formatting';
import { describeUserAgent } from '@gatehouse/web/user-agent';
import type { Context } from 'koa';
import type { Account } from '../../core/accounts/account.ts';
import { originOf } from '../../core/audit/audit.ts';
import type { SignIn } from '../../core/oidc/epochs/sign-in-epochs.ts';
import { FRESH_SECONDS } from '../../core/sessions/account-router.ts';
import type { CompletedSignIn, PageAfterSignIn } from '../../core/sessions/after-sign-in.ts';
import type { SecondFactors } from '../../core/sessions/second-factors.ts';
import type { BrowserCookie } from '../../pages/browser-cookie.ts';
import { MAX_PASSKEYS } from './passkey.ts';
import { upgradePage } from './passkey-pages.ts';
import type { Passkeys } from './passkeys.ts';
import type { RecordPasskey } from './record-passkey.ts';

/** The cookie by which the script of the sign-in page says that the browser creates passkeys by itself. */
const CAPABLE = 'gatehouse_creates_passkeys';
const SILENTLY = { isConditional: true };

/** After a sign-in with a password: the browser may create a passkey without asking (WebAuthn Level 3 §5.1.3, conditional mediation). */
export function passkeyUpgrade(options: {
  passkeys: Passkeys;
  record: RecordPasskey;
  secondFactors: Pick<SecondFactors, 'of'>;
  browser: Pick<BrowserCookie, 'id'>;
  script: string;
}): PageAfterSignIn {
  const { passkeys, record, secondFactors, browser } = options;
  const contextOf = (ctx: Context, { id }: Account) => `upgrade ${ctx.params.uid} ${browser.id(ctx)} ${id}`;

  /** Whether the sign-in is as fresh as it has to be for any other passkey (see AccountRouter), and by a password. */
  async function mayAdd({ accountId, amr, device, ts }: SignIn): Promise<boolean> {
    const isFresh = device.isUnconfirmed !== true && Date.now() / 1000 - ts <= FRESH_SECONDS;
    if (!isFresh || !amr.includes('pwd')) return false;
    return amr.includes('mfa') || (await secondFactors.of(accountId)).length === 0;
  }

  async function add(ctx: Context, { account, recheck }: CompletedSignIn, response: string): Promise<void> {
    const name = deviceName(describeUserAgent(ctx.get('user-agent')));
    const added = await passkeys.add(account, { name, response }, contextOf(ctx, account), SILENTLY);
    // If the sign-in ended meanwhile, its passkeys may have been removed before this one was stored.
    await recheck().catch(async (error: unknown) => {
      await passkeys.remove(account.id, added.id);
      throw error;
    });
    await record('added', account.id, added, { origin: originOf(ctx) });
  }

  return {
    name: 'passkey',
    async isFor(ctx, { account, amr, isUnconfirmed, since }) {
      const isCapable = ctx.cookies.get(CAPABLE, { signed: false }) !== undefined;
      if (!isCapable || !amr.includes('pwd') || isUnconfirmed || since !== undefined) return false;
      return (await passkeys.list(account.id)).length < MAX_PASSKEYS;
    },
    show: async (ctx, { account }, page) =>
      upgradePage({
        ...{ ...page, username: account.username, scripts: [options.script] },
        options: await passkeys.creationOptions(account, contextOf(ctx, account), SILENTLY),
      }),
    async submit(ctx, signIn, fields) {
      const response = fields.get('passkey') ?? '';
      if (response === '' || !(await mayAdd(signIn.login))) return signIn.login;
      await add(ctx, signIn, response).catch((error: unknown) => {
        // The person has not asked for a passkey, so an error does not interrupt the sign-in.
        const isRefused = error instanceof ServiceError && ['invalid', 'conflict'].includes(error.kind);
        if (!isRefused) throw error;
      });
      return signIn.login;
    },
  };
}
