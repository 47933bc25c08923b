import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '@gatehouse/kit/ids';
import { type MailSender, refuseInjection } from './mail.ts';

/** Writes mails to files that only their owner can read: `<time>-<id>.txt`. `onLink` gets the first link in each. */
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
      const name = `${now.toISOString().replaceAll(':', '-')}-${newId('mail')}.txt`;
      const file = join(directory, name);
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const content = `To: ${to}\nSubject: ${subject}\nDate: ${now.toUTCString()}\n\n${text}`;
      // It gets its name once it is complete.
      const unfinished = join(directory, `.${name}`);
      await writeFile(unfinished, content, { mode: 0o600, flag: 'wx' });
      await rename(unfinished, file);
      const link = /https?:\/\/\S+/.exec(text)?.[0];
      if (link !== undefined) onLink?.({ to, subject, link, file });
    },
  };
}
