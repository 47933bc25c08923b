/** A mail to one person; `text` and `html` say the same. */
export type Mail = { to: string; subject: string; text: string; html: string };

/** Sends mail. Resolves when the next server has taken it; throws when it has not. */
export type MailSender = { send(mail: Mail): Promise<void> };

/** Throws when an address or a subject could add a header or a recipient of its own. */
export function refuseInjection({ to, subject }: Mail): void {
  if (!/^[^\s@,;:<>()[\]\\"\p{Cc}]+@[^\s@,;:<>()[\]\\"\p{Cc}]+$/u.test(to) || to.length > 254) {
    throw new Error('a mail needs the bare address of one person');
  }
  if (/\p{Cc}|[\u2028\u2029]/u.test(subject)) throw new Error('the subject of a mail is one line');
}
