/** A mail to one person; `text` and `html` say the same. */
export type Mail = { to: string; subject: string; text: string; html: string };

/** Resolves when the next mail server has accepted the mail; throws when it has not. */
export type MailSender = { send(mail: Mail): Promise<void> };

/** Throws when an address or a subject could inject a header or another recipient. */
export function refuseInjection({ to, subject }: Mail): void {
  if (!/^[^\s@,;:<>()[\]\\"\p{Cc}]+@[^\s@,;:<>()[\]\\"\p{Cc}]+$/u.test(to) || to.length > 254) {
    throw new Error('the recipient of a mail must be one bare address');
  }
  if (/\p{Cc}|[\u2028\u2029]/u.test(subject)) throw new Error('the subject of a mail must be one line');
}
