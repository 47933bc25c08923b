import { ServiceError } from '@gatehouse/core/errors';
import { deviceName } from '@gatehouse/web/formatting';
import { describeUserAgent } from '@gatehouse/web/user-agent';
import type { Context } from 'koa';
import type { Account } from '../../core/accounts/account.ts';
import { originOf } from '../../core/audit/audit.ts';
import type { AccountPage, AccountRouter } from '../../core/sessions/account-router.ts';
import type { BrowserSessions, SignedIn } from '../../core/sessions/browser-sessions.ts';
import type { LastWay } from '../../core/sessions/last-way.ts';
import { afterSetUp } from '../../core/sessions/set-up.ts';
import type { ScriptedPart } from '../../pages/account/account-document.ts';
import { CsrfError } from '../../pages/csrf-forms.ts';
import { formProblems } from '../../pages/page-errors.ts';
import { sendPage } from '../../pages/page-response.ts';
import { amrOf, MAX_PASSKEYS, type Passkey } from './passkey.ts';
import { ADD, addPasskeyPage, PASSKEYS, passkeysPage, removePasskeyQuestion } from './passkey-pages.ts';
import { PASSKEY_METHOD } from './passkey-sign-in.ts';
import type { Passkeys } from './passkeys.ts';
import type { RecordPasskey, RemovePasskey } from './record-passkey.ts';

const NOTICES = {
  added: 'The passkey is added. You can sign in with it from now on.',
  renamed: 'The new name is saved.',
  removed: 'The passkey is removed.',
} as const;

/** The pages on which people manage their own passkeys. */
export function addPasskeyRoutes(
  pages: AccountRouter,
  options: {
    passkeys: Passkeys;
    record: RecordPasskey;
    remove: RemovePasskey;
    sessions: Pick<BrowserSessions, 'find' | 'addFactors'>;
    lastWay: Pick<LastWay, 'hasOther'>;
    script: string;
    /** Signals to password managers what has changed. */
    signals(account: Account, accepted?: readonly Passkey[]): ScriptedPart;
  },
): void {
  const { passkeys, record } = options;

  async function showList(
    ctx: Context,
    { signedIn: { account }, frame, form }: AccountPage,
    error?: ServiceError,
  ): Promise<void> {
    const list = await passkeys.list(account.id);
    // Only the browser that removed it gets the signal: another one may be the owner’s, who can still restore the passkey.
    const accepted = ctx.query.done === 'removed' ? list : undefined;
    const html = passkeysPage({
      frame,
      signals: frame.notice === undefined ? undefined : options.signals(account, accepted),
      passkeys: list.map((it) => ({ ...it, rename: form(`${PASSKEYS}/${it.id}/rename`) })),
      add: list.length < MAX_PASSKEYS ? ADD : undefined,
      isOnlyWay: list.length === 1 && !(await options.lastWay.hasOther(account.id, PASSKEY_METHOD)),
      problems: error && formProblems(error),
    });
    sendPage(ctx, html, { status: error?.status ?? 200 });
  }
  pages.get(PASSKEYS, (ctx, page) => showList(ctx, page), NOTICES);

  const contextOf = ({ signedIn: { session } }: Pick<AccountPage, 'signedIn'>) => `add ${session.uid}`;

  async function showAdd(
    ctx: Context,
    page: AccountPage,
    more: { name?: string; error?: ServiceError } = {},
  ): Promise<void> {
    const { signedIn, frame, form } = page;
    const { error, name = deviceName(describeUserAgent(ctx.get('user-agent'))) } = more;
    const html = addPasskeyPage({
      frame,
      form: form(ADD),
      options: await passkeys.creationOptions(signedIn.account, contextOf(page)),
      name,
      scripts: [options.script],
      ...(error?.details === undefined ? { problem: error?.message } : { problems: formProblems(error) }),
    });
    sendPage(ctx, html, { status: error?.status ?? 200 });
  }

  // A passkey lets its owner come back at any time: an open session alone must not be enough to add one.
  pages.get(ADD, async (ctx, page) => {
    if (await pages.isFresh(ctx, page.signedIn, ADD)) await showAdd(ctx, page);
  });

  pages.post(ADD, async (ctx, signedIn, fields) => {
    if (!(await pages.isFresh(ctx, signedIn, ADD))) return undefined;
    const { account } = signedIn;
    const name = fields.get('name') ?? '';
    try {
      const response = fields.get('passkey') ?? '';
      const added = await passkeys.add(account, { name, response }, contextOf({ signedIn }));
      // If this session has ended meanwhile, its end may have removed the passkeys before this one was there.
      if ((await options.sessions.find(ctx))?.account.id !== account.id) {
        await passkeys.remove(account.id, added.id);
        throw new CsrfError();
      }
      await record('added', account.id, added, { origin: originOf(ctx) });
      await options.sessions.addFactors(ctx, account.id, amrOf(added));
      return afterSetUp(ctx) ?? `${PASSKEYS}?done=added`;
    } catch (error) {
      if (!(error instanceof ServiceError) || !['invalid', 'conflict'].includes(error.kind)) throw error;
      await showAdd(ctx, pages.page(ctx, signedIn), { name, error });
      return undefined;
    }
  });

  pages.post(`${PASSKEYS}/:id/rename`, async (ctx, signedIn, fields) => {
    try {
      await passkeys.rename(signedIn.account.id, String(ctx.params.id), fields.get('name') ?? '');
      return `${PASSKEYS}?done=renamed`;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.kind !== 'invalid') throw error;
      await showList(ctx, pages.page(ctx, signedIn), error);
      return undefined;
    }
  });

  const askToRemove = async (ctx: Context, { account, session }: SignedIn) => {
    const passkey = (await passkeys.list(account.id)).find(({ id }) => id === ctx.params.id);
    if (passkey === undefined) throw new ServiceError('not_found', 'There is no such passkey.');
    return {
      ...removePasskeyQuestion(passkey),
      async act() {
        await options.remove(account.id, passkey, { origin: originOf(ctx) }, session.uid);
        return `${PASSKEYS}?done=removed`;
      },
    };
  };
  pages.confirmed(`${PASSKEYS}/:id/remove`, PASSKEYS, askToRemove, { fresh: true });
}
