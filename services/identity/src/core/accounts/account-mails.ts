import { ServiceError, unavailable } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { loginKey } from '@gatehouse/domain/folded-key';
import type { MailSender } from '@gatehouse/mail/mail';
import { type Brand, inBrand } from '@gatehouse/web/brand';
import { inLanguage, language } from '@gatehouse/web/language';
import { requestedLanguage } from '../../texts/languages.ts';
import type { Given } from '../authority/given.ts';
import type { Account, Accounts } from './account.ts';
import { setUpLinkCreated } from './account-notices.ts';
import type { Mail, Occasion } from './mail-document.ts';
import {
  accountDeletedMail,
  addressClaimedMail,
  emailChangedMail,
  type FactorRecoveryMail,
  factorRecoveryMail,
  type InvitationMail,
  invitationMail,
  newPasswordMail,
  undoneMail,
  verifyEmailMail,
} from './mails.ts';
import { type Notice, UNDO_HOURS, writeNotice } from './notice.ts';
import type { LinkDraft, LinkPurpose, OneTimeLinks } from './one-time-link.ts';

/** The page for a new password. */
const NEW_PASSWORD = '/account/new-password';
/** The pages about lost second factors. */
const FACTOR_RECOVERY = '/account/factor-recovery';
/** How long a link works. */
export const NEW_PASSWORD_SECONDS = 30 * 60;
const VERIFY_EMAIL_SECONDS = 24 * 3600;
/** How long a change can be undone. */
export const UNDO_SECONDS = UNDO_HOURS * 3600;

/** The mails about a person's account. One that cannot be sent is logged, and not an error. */
export type AccountMails = {
  /**
   * Sends a link to the account's address, if it has one that is not verified; where another account has verified it, the owner
   * gets a mail about the attempt instead. Nothing tells the two apart but the mail.
   */
  sendVerification(account: Account): Promise<void>;
  /** Sends a link to the verified address of the account with this login, if there is one. */
  sendNewPassword(login: string): Promise<void>;
  /**
   * The same for an admin, who learns until when the link works, or why nothing was sent: throws `conflict`, `rate_limited` and
   * `unavailable`.
   */
  sendPasswordReset(account: Account): Promise<{ expiresAt: Date }>;
  /**
   * Tells the person with this id at their verified address. Unless the notice is unlimited, that happens some times an hour for each kind and
   * each other person who caused it. A mail about a change of how they sign in has a link that undoes it.
   */
  notify(userId: string, notice: Notice): Promise<void>;
  /** Tells the address that the account had before, with a link that gives it back if it is restorable. */
  notifyEmailChanged(
    userId: string,
    previous: { email: string; isRestorable: boolean },
    occasion: Occasion,
  ): Promise<void>;
  /** Tells the owner of an account whose second factors are lost, with a link that stops their removal, or at last removes them. */
  sendFactorRecovery(account: Account, mail: FactorRecoveryMail): Promise<void>;
  /** A link for an admin to give to the owner, who sets up how they sign in again; tells the owner by mail that there is one. */
  createSetUpLink(account: Account, given: Given): Promise<{ url: string; expiresAt: Date }>;
  /** Sends the link of an invitation to an address that has no account. */
  sendInvitation(email: string, invitation: InvitationMail): Promise<void>;
  /** Tells the owner of an account that it was deleted, at the address that they had confirmed. */
  sendDeleted(
    account: Pick<Account, 'email' | 'email_verified' | 'username'> & { locale?: string | null },
  ): Promise<void>;
  /** Sends a link for a new password after a change was undone, however many mails there have been. */
  sendUndone(account: Account): Promise<void>;
};

const SET_UP_SECONDS = 24 * 3600;

type MailOptions = {
  issuer: string;
  accounts: Accounts;
  links: OneTimeLinks;
  mail: MailSender;
  logger: Logger;
  brand?: Brand | undefined;
  /** Counts a mail of this kind to this recipient; throws `rate_limited`. */
  countMail(recipient: string, kind: string): Promise<unknown>;
};

export function createAccountMails(options: MailOptions): AccountMails {
  const { issuer, accounts, links, mail, logger } = options;

  const attempt = (what: string, action: () => Promise<void>) =>
    inBrand(options.brand, action).catch((error: unknown) => {
      if (error instanceof ServiceError && error.kind === 'rate_limited') {
        logger.info({ what }, 'a mail was not sent: there have been too many');
      } else logger.warn({ err: error, what }, 'a mail could not be sent');
    });

  async function linkTo(
    path: string,
    { id: userId, sign_in_epoch: epoch }: Account,
    email: string,
    purpose: LinkPurpose,
    seconds: number,
    more: Pick<LinkDraft, 'change' | 'method' | 'given'> = {},
  ) {
    const token = await links.issue({ purpose, userId, email, epoch, seconds, ...more });
    return `${issuer}${path}?token=${token}`;
  }

  const self: AccountMails = {
    ...createPasswordMails({ ...options, attempt, linkTo }),
    sendVerification: (account) =>
      attempt('verification', async () => {
        const { email, username } = account;
        if (email === null || account.email_verified) return;
        // Counted for whoever reads the mail: strangers can make accounts with any address.
        await options.countMail(loginKey(email), 'verify_email');
        const owner = await accounts.lookUp(email);
        if (owner !== undefined) {
          return mail.send({
            to: owner.email ?? email,
            ...inLanguageOf(owner, () => addressClaimedMail(owner)),
          });
        }
        const [path, purpose] = ['/account/verify-email', 'verify_email'] as const;
        const link = await linkTo(path, account, email, purpose, VERIFY_EMAIL_SECONDS);
        await mail.send({ to: email, ...inLanguageOf(account, () => verifyEmailMail({ link, username })) });
      }),
    sendDeleted: (account) =>
      attempt('account deleted', async () => {
        const { email, email_verified } = account;
        if (email !== null && email_verified)
          await mail.send({ to: email, ...inLanguageOf(account, () => accountDeletedMail(account)) });
      }),
    sendInvitation: (email, invitation) =>
      attempt('invitation', async () => {
        await options.countMail(loginKey(email), 'invitation');
        await mail.send({ to: email, ...invitationMail(invitation) });
      }),
    notifyEmailChanged: (userId, { email, isRestorable }, occasion) =>
      attempt('email changed', async () => {
        const account = await accounts.find(userId);
        if (account === undefined) return;
        const [path, purpose] = ['/account/undo-email-change', 'undo_email_change'] as const;
        const link = isRestorable ? await linkTo(path, account, email, purpose, UNDO_SECONDS) : undefined;
        const { username } = account;
        const write = () => emailChangedMail({ link, username, ...occasion });
        await mail.send({ to: email, ...inLanguageOf(account, write) });
      }),
    notify: (userId, notice) =>
      attempt(notice.kind, async () => {
        const account = await accounts.find(userId);
        if (account === undefined || account.email === null || !account.email_verified) return;
        const by = notice.by === undefined ? undefined : await accounts.find(notice.by);
        // Credentials end with the account of the person who made them.
        if (notice.by !== undefined && by === undefined) return;
        // Mails about what others cause leave room for those about what was done as the person.
        const cause = notice.by === undefined ? notice.kind : `${notice.kind} by ${notice.by}`;
        if (!notice.isUnlimited) await options.countMail(account.id, cause);
        const { change, removed: method = null } = notice.undo ?? {};
        const undo =
          change &&
          (await linkTo('/account/undo-change', account, account.email, 'undo_change', UNDO_SECONDS, {
            change: change.name,
            method,
          }));
        const { username } = account;
        const write = () => writeNotice(notice, { username, undo, by });
        await mail.send({ to: account.email, ...inLanguageOf(account, write) });
      }),
    sendFactorRecovery: (account, about) =>
      attempt(`recovery ${about.stage}`, async () => {
        const { id, email, username } = account;
        if (email === null) return;
        await options.countMail(id, 'factor_recovery');
        const untilReady = (about.readyAt.getTime() - Date.now()) / 1000;
        const [page, purpose, seconds] =
          about.stage === 'ready'
            ? (['remove', 'remove_factors', UNDO_SECONDS] as const)
            : (['stop', 'stop_recovery', untilReady + UNDO_SECONDS] as const);
        const link = await linkTo(`${FACTOR_RECOVERY}/${page}`, account, email, purpose, seconds);
        const write = () => factorRecoveryMail(about, { link, username });
        await mail.send({ to: email, ...inLanguageOf(account, write) });
      }),
    async createSetUpLink(account, given) {
      const expiresAt = new Date(Date.now() + SET_UP_SECONDS * 1000);
      const address = account.email ?? '';
      const [path, purpose] = ['/account/set-up-sign-in', 'set_up_sign_in'] as const;
      const url = await linkTo(path, account, address, purpose, SET_UP_SECONDS, { given });
      void self.notify(account.id, setUpLinkCreated({ at: new Date() }));
      return { url, expiresAt };
    },
  };
  return self;
}

/** A mail in the language that the person has chosen, or else in that of the request. */
function inLanguageOf({ locale }: { locale?: string | null }, write: () => Mail): Mail {
  return inLanguage(requestedLanguage(locale) ?? language(), write);
}

/** The mails with a link for a new password. */
function createPasswordMails(
  options: MailOptions & {
    attempt(what: string, action: () => Promise<void>): Promise<void>;
    linkTo(
      path: string,
      account: Account,
      email: string,
      purpose: LinkPurpose,
      seconds: number,
    ): Promise<string>;
  },
): Pick<AccountMails, 'sendNewPassword' | 'sendPasswordReset' | 'sendUndone'> {
  const { accounts, mail, logger, attempt, linkTo } = options;

  async function mailNewPassword(account: Account): Promise<void> {
    const to = account.email ?? '';
    // By address: what a thief was sent at theirs must not keep the owner from a mail after the change is undone.
    await options.countMail(loginKey(to), 'new_password');
    const link = await linkTo(NEW_PASSWORD, account, to, 'new_password', NEW_PASSWORD_SECONDS);
    const write = () => newPasswordMail({ link, minutes: NEW_PASSWORD_SECONDS / 60 });
    await mail.send({ to, ...inLanguageOf(account, write) });
  }

  return {
    sendNewPassword: (login) =>
      attempt('new password', async () => {
        const account = await accounts.lookUp(login);
        if (account !== undefined && resetObstacle(account) === undefined) await mailNewPassword(account);
      }),
    async sendPasswordReset(account) {
      const obstacle = resetObstacle(account);
      if (obstacle !== undefined) throw new ServiceError('conflict', obstacle);
      const expiresAt = new Date(Date.now() + NEW_PASSWORD_SECONDS * 1000);
      try {
        await inBrand(options.brand, () => mailNewPassword(account));
      } catch (error) {
        if (error instanceof ServiceError) throw error;
        logger.warn({ err: error, what: 'password reset' }, 'a mail could not be sent');
        throw unavailable('The mail could not be sent.', error);
      }
      return { expiresAt };
    },
    sendUndone: (account) =>
      attempt('change undone', async () => {
        const { email, username } = account;
        if (email === null) return;
        const link = await linkTo(NEW_PASSWORD, account, email, 'new_password', NEW_PASSWORD_SECONDS);
        const write = () => undoneMail({ link, username, minutes: NEW_PASSWORD_SECONDS / 60 });
        await mail.send({ to: email, ...inLanguageOf(account, write) });
      }),
  };
}

/** Why an account gets no link for a new password, and what to do; undefined if it does. */
function resetObstacle({ email, email_verified, status }: Account): string | undefined {
  if (status !== 'active') return 'The account is inactive.';
  // One that nobody has confirmed may be a stranger's.
  if (email !== null && email_verified) return undefined;
  const problem =
    email === null
      ? 'The account has no email address.'
      : 'The email address of the account is not confirmed.';
  return `${problem} Create a set-up link instead.`;
}
