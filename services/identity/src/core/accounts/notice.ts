import { brand } from '@gatehouse/web/brand';
import { type Text, t } from '../../texts/texts.ts';
import type { Account } from './account.ts';
import { type Mail, type Paragraph, plainName, sentences } from './mail-document.ts';

/** For how many hours a link in a mail about a change undoes it. */
export const UNDO_HOURS = 72;

/** A change of how an account is signed in to, which a link in the mail about it undoes. */
export type UndoableChange = {
  /** As it is stored with the link. */
  name: string;
  /** The sentence about the change on the page of the link. */
  done: Text;
  /** The effect of undoing it; by default, that what was added lately stops working. */
  undone?: Text;
};

/** A mail to a person about something that somebody else may have caused. */
export type Notice = {
  /** Mails of each kind are limited by themselves. */
  kind: string;
  /** Whether no limit applies, since the notice is about something that lets somebody act. */
  isUnlimited?: boolean;
  /** The id of another person who did it, if the mail names them. */
  by?: string | undefined;
  /** The change that a link in the mail undoes; `removed` is the id of what was removed. */
  undo?: { change: UndoableChange; removed?: string | undefined };
  write(reader: NoticeReader): Mail;
};

/** The values of a notice that depend on who gets it. */
export type NoticeReader = {
  account: { product: string; username: string };
  /** Paragraphs with the link that undoes the change. */
  undoing: readonly Paragraph[];
  by: Maker | undefined;
};
type Maker = Pick<Account, 'username' | 'role'>;

/** The mail of a notice; `undo` is its link, if it has one, and `by` the person whose id it has. */
export function writeNotice(
  notice: Notice,
  { username, undo = '', by }: { username: string; undo?: string | undefined; by?: Maker | undefined },
): Mail {
  const undoing = [
    t('If it was not you, somebody else may be in your account. Open this link, which undoes it:'),
    { link: undo, label: t('This was not me') },
    t(
      'It works once, for {hours} hours, and asks before it changes anything. Then all sessions of your account end, and you get a link to choose a new password. Give the link to nobody.',
      { hours: UNDO_HOURS },
    ),
  ];
  return notice.write({ account: { product: brand().name, username: plainName(username) }, undoing, by });
}

export const nothingToDo = () => t('If it was you, you need not do anything.');
export const nothingToDoWithAdmin = () =>
  t('If it was you, or you asked an admin for it, you need not do anything.');
export const askForNewPassword = () =>
  t(
    'Ask for a new password at once: open the page where you sign in, and choose “Forgotten your password?”. Then remove the passkeys of your account that are not yours.',
  );
export const revokeAllAccess = () =>
  sentences(
    t('If it was not you, somebody else may be in your account.'),
    t(
      'Choose a new password at once: open the page where you sign in, and choose “Forgotten your password?”. Then revoke all access on the page “Applications” of your account.',
    ),
  );
