import type { AccountMails } from '../../core/accounts/account-mails.ts';
import type { Audit } from '../../core/audit/audit.ts';
import type { SecondFactor, SecondFactorSource } from '../../core/sessions/second-factor.ts';
import { t } from '../../texts/texts.ts';
import { recoveryCodeUsed } from './app-notices.ts';
import type { AuthenticatorApp } from './authenticator-app.ts';
import type { AuthenticatorApps } from './authenticator-apps.ts';

/** The `amr` of its codes (RFC 8176 §2). */
export const OTP = ['otp'];

/** The app and, after it, its recovery codes as second factors of a sign-in. */
export function authenticatorAppFactors(options: {
  apps: AuthenticatorApps;
  mails: Pick<AccountMails, 'notify'>;
  audit: Audit;
}): SecondFactorSource {
  const { apps, mails, audit } = options;

  const ofApp = (app: AuthenticatorApp): SecondFactor => ({
    credentialId: app.id,
    name: 'authenticator_app',
    amr: OTP,
    field: {
      label: t('Code from your authenticator app'),
      hint: t('The six digits that the app shows now.'),
      inputmode: 'numeric',
      autocomplete: 'one-time-code',
    },
    verify: (code) => apps.verifyCode(app, code),
  });

  const ofRecoveryCodes = (app: AuthenticatorApp): SecondFactor => ({
    credentialId: app.id,
    name: 'recovery_code',
    // RFC 8176 has no method for it but `mfa`.
    amr: [],
    field: {
      label: t('Recovery code'),
      use: t('Use a recovery code'),
      hint: t('One of the codes that you kept when you set up the app. Each works once.'),
      autocomplete: 'off',
    },
    async verify(code, origin) {
      if (!(await apps.verifyRecoveryCode(app, code))) return false;
      await audit.record({ action: 'recovery_code.used', origin, subject: app.userId });
      const left = (await apps.find(app.userId))?.recoveryCodes.length ?? 0;
      const { address } = origin;
      void mails.notify(app.userId, recoveryCodeUsed(left, { at: new Date(), address }));
      return true;
    },
  });

  return {
    async of(userId) {
      const app = await apps.find(userId);
      if (app === undefined) return [];
      return app.recoveryCodes.length === 0 ? [ofApp(app)] : [ofApp(app), ofRecoveryCodes(app)];
    },
    removeSince: async (userId, time) => Number(await apps.removeSince(userId, time)),
    restore: apps.restore,
  };
}
