import { type MailSender, refuseInjection } from './mail.ts';
import { removeOldest, writeMessageFile } from './message-file.ts';
import { createSmtpMail } from './smtp-mail.ts';

/** The number of mails that are kept. It is bounded, since anybody can cause a mail. */
const MAX_KEPT = 2000;
/** The number of mails after which the oldest are removed; not after each, since that reads the directory. */
const REMOVED_EVERY = 100;

/** By SMTP, or as files in a directory; `onLink` gets the link in each mail. */
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

/** Writes mails to files that only their owner can read, `<time>-mail_<id>.txt`, and keeps the newest. `onLink` gets the first link in each. */
export function createFileMail(options: {
  directory: string;
  onLink?: (mail: { to: string; subject: string; link: string; file: string }) => void;
}): MailSender {
  const { directory, onLink } = options;
  let sent = 0;
  return {
    async send(mail) {
      refuseInjection(mail);
      const { to, subject, text } = mail;
      const now = new Date();
      const content = `To: ${to}\nSubject: ${subject}\nDate: ${now.toUTCString()}\n\n${text}`;
      const file = await writeMessageFile(directory, { now, kind: 'mail', content });
      if (sent % REMOVED_EVERY === 0) await removeOldest(directory, { kind: 'mail', keep: MAX_KEPT });
      sent += 1;
      const link = /https?:\/\/\S+/.exec(text)?.[0];
      if (link !== undefined) onLink?.({ to, subject, link, file });
    },
  };
}
