import { originOf } from '../../core/audit/audit.ts';
import type { Ports } from '../../core/ports.ts';
import type { PageAfterSignIn } from '../../core/sessions/after-sign-in.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { createAccountService } from '../account/account-service.ts';
import { breachedPasswordPage } from './breached-password-page.ts';

/** The page that asks people who sign in with a breached password to change it. */
export function breachedPasswords(core: Ports<'accounts' | 'sessions'>): IdentityModule {
  if (core.config.breachedPasswordsUrl === undefined) return {};
  const service = createAccountService(core);
  const page: PageAfterSignIn = {
    name: 'breached-password',
    isFor: (_, { isBreached = false }) => isBreached,
    show: (_, { account: { username } }, it) => breachedPasswordPage({ ...it, username }),
    async submit(ctx, { account, login }, fields) {
      const next = fields.get('new_password') ?? '';
      const current = fields.get('current_password') ?? '';
      const changed = await service.changePassword(account, { next, current }, originOf(ctx));
      return { ...login, epoch: changed.sign_in_epoch };
    },
  };
  return { extensions: { pagesAfterSignIn: [page] } };
}
