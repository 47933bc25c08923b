import { type MailSender, refuseInjection } from './mail.ts';
import { removeOldest, writeMessageFile } from './message-file.ts';

/** How many mails are kept: strangers cause some. */
const MAX_KEPT = 2000;
/** The oldest are removed after as many mails, since that reads the directory. */
const REMOVED_EVERY = 100;

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
