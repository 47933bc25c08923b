import { ServiceError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/logger';
import { emailChangedMail, newPasswordMail, passwordChangedMail, verifyEmailMail } from '../pages/mails.ts';
import type { Account, Accounts } from './account.ts';
import type { MailSender } from './mail.ts';
import type { OneTimeLinks } from './one-time-link.ts';

/** How long a link works, in seconds. */
export const NEW_PASSWORD_SECONDS = 30 * 60;
const VERIFY_EMAIL_SECONDS = 24 * 3600;

/** The mails that lead back to our pages. */
export type MailedLinks = {
  /** To the account's address, if it has one that is not verified. A mail that cannot be sent is logged. */
  sendVerification(account: Account): Promise<void>;
  /** To the verified address of the account that the login identifies, if there is one. */
  sendNewPassword(login: string): Promise<void>;
  /** Tells the owner that their password was changed. */
  tellPasswordChanged(account: Account): Promise<void>;
  /** Tells the owner, at the address that the account had before, that it has another now. */
  tellEmailChanged(before: Account): Promise<void>;
};

export function createMailedLinks(options: {
  issuer: string;
  accounts: Accounts;
  links: OneTimeLinks;
  mail: MailSender;
  logger: Logger;
  /** Counts a mail for a forgotten password to this account; throws `rate_limited`. */
  countMail(userId: string): Promise<unknown>;
}): MailedLinks {
  const { issuer, accounts, links, mail, logger } = options;

  async function trying(what: string, action: () => Promise<void>): Promise<void> {
    await action().catch((error: unknown) => {
      if (error instanceof ServiceError && error.kind === 'rate_limited') {
        logger.info({ what }, 'a mail was not sent: too many already');
      } else logger.warn({ err: error, what }, 'a mail could not be sent');
    });
  }

  async function linkTo(
    path: string,
    account: Account,
    purpose: 'new_password' | 'verify_email',
    seconds: number,
  ) {
    const token = await links.issue({
      purpose,
      userId: account.id,
      email: account.email ?? '',
      epoch: account.sign_in_epoch,
      seconds,
    });
    return `${issuer}${path}?token=${token}`;
  }

  return {
    sendVerification: (account) =>
      trying('verification', async () => {
        const { email, username } = account;
        if (email === null || account.email_verified) return;
        const link = await linkTo('/account/verify-email', account, 'verify_email', VERIFY_EMAIL_SECONDS);
        await mail.send({ to: email, ...verifyEmailMail({ link, username }) });
      }),
    sendNewPassword: (login) =>
      trying('new password', async () => {
        const account = await accounts.lookUp(login);
        // A stranger may have got an address that nobody has confirmed.
        if (account === undefined || account.email === null || !account.email_verified) return;
        if (account.status !== 'active') return;
        await options.countMail(account.id);
        const link = await linkTo('/account/new-password', account, 'new_password', NEW_PASSWORD_SECONDS);
        await mail.send({
          to: account.email,
          ...newPasswordMail({ link, minutes: NEW_PASSWORD_SECONDS / 60 }),
        });
      }),
    tellEmailChanged: (before) =>
      trying('email changed', async () => {
        if (before.email !== null && before.email_verified) {
          await mail.send({ to: before.email, ...emailChangedMail({ username: before.username }) });
        }
      }),
    tellPasswordChanged: (account) =>
      trying('password changed', async () => {
        if (account.email !== null && account.email_verified) {
          await mail.send({ to: account.email, ...passwordChangedMail() });
        }
      }),
  };
}
