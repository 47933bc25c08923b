import { createFileMail } from './file-mail.ts';
import type { MailSender } from './mail.ts';
import { createSmtpMail } from './smtp-mail.ts';

/** By SMTP, or as files in a directory; `onLink` gets the link in each mail (see file-mail.ts). */
export type MailSettings =
  | { smtpUrl: string; from: string }
  | { directory: string; onLink: (mail: { to: string; link: string; file: string }) => void };

/** The sender that the settings name. Without settings, sending always fails. */
export function createMailSender(settings: MailSettings | undefined): MailSender & { stop(): void } {
  const stop = () => {};
  if (settings === undefined) {
    const send = async () => {
      throw new Error('sending mail is not configured');
    };
    return { send, stop };
  }
  return 'smtpUrl' in settings ? createSmtpMail(settings) : { ...createFileMail(settings), stop };
}
