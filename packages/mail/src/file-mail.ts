import { type MailSender, refuseInjection } from './mail.ts';
import { writeMessageFile } from './message-file.ts';

/** Writes mails to files that only their owner can read: `<time>-mail_<id>.txt`. `onLink` gets the first link in each. */
export function createFileMail(options: {
  directory: string;
  onLink?: (mail: { to: string; subject: string; link: string; file: string }) => void;
}): MailSender {
  const { directory, onLink } = options;
  return {
    async send(mail) {
      refuseInjection(mail);
      const { to, subject, text } = mail;
      const now = new Date();
      const content = `To: ${to}\nSubject: ${subject}\nDate: ${now.toUTCString()}\n\n${text}`;
      const file = await writeMessageFile(directory, { now, kind: 'mail', content });
      const link = /https?:\/\/\S+/.exec(text)?.[0];
      if (link !== undefined) onLink?.({ to, subject, link, file });
    },
  };
}
