import { newId } from '@gatehouse/core/ids';
import { deviceName } from '@gatehouse/web/formatting';
import { describeUserAgent } from '@gatehouse/web/user-agent';
import type { Context } from 'koa';
import type { SignUpMethod } from '../../core/sessions/sign-up-method.ts';
import type { BrowserCookie } from '../../pages/browser-cookie.ts';
import { amrOf } from './passkey.ts';
import { signUpFields } from './passkey-pages.ts';
import type { Passkeys } from './passkeys.ts';

/** The field with the id that the passkey was made for. */
const USER = 'passkey_user';

/** Creating an account with a passkey, so that it needs no password. */
export function passkeySignUp(options: {
  passkeys: Passkeys;
  browser: Pick<BrowserCookie, 'id'>;
  script: string;
}): SignUpMethod {
  const { passkeys, browser } = options;
  /** A response is good in the browser, for the sign-in and for the account that the challenge was made for. */
  const contextOf = (ctx: Context, interaction: string, userId: string) =>
    `sign up ${interaction} ${browser.id(ctx)} ${userId}`;

  return {
    field: 'passkey',
    scripts: [options.script],
    async content(ctx, interaction, refused) {
      const id = newId('usr');
      // The script fills in the names that the person has entered.
      const account = { id, username: '', name: '' };
      return signUpFields({
        user: { name: USER, value: id },
        unknown: credentialIn(refused?.get('passkey') ?? ''),
        options: await passkeys.creationOptions(account, contextOf(ctx, interaction, id)),
      });
    },
    async prepare(ctx, form, interaction) {
      const id = form.get(USER) ?? '';
      const sent = {
        name: deviceName(describeUserAgent(ctx.get('user-agent'))),
        response: form.get('passkey') ?? '',
      };
      const passkey = await passkeys.add({ id }, sent, contextOf(ctx, interaction, id));
      return {
        id,
        amr: amrOf(passkey),
        details: { method: 'passkey', passkey: passkey.id },
        discard: () => passkeys.remove(id, passkey.id),
      };
    },
  };
}

/** The id of the credential that the browser has sent; undefined for anything else. */
function credentialIn(response: string): string | undefined {
  try {
    const { id } = Object(JSON.parse(response)) as { id?: unknown };
    return typeof id === 'string' ? id : undefined;
  } catch {
    return undefined;
  }
}
