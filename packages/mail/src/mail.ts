/** A mail to one person; `text` and `html`, if there is one, say the same. */
export type Mail = {
  to: string;
  subject: string;
  text: string;
  html?: string;
  /** Identifies the mail wherever it goes (RFC 5322 §3.6.4), without angle brackets; a random one unless given. */
  messageId?: string;
};

/**
 * Resolves when the next mail server has accepted the mail; throws when it has not, and when the signal is aborted, after
 * which it may be accepted all the same.
 */
export type MailSender = { send(mail: Mail, signal?: AbortSignal): Promise<void> };

/** Throws when an address or a subject could inject a header or another recipient. */
export function refuseInjection({ to, subject }: Mail): void {
  if (!/^[^\s@,;:<>()[\]\\"\p{Cc}]+@[^\s@,;:<>()[\]\\"\p{Cc}]+$/u.test(to) || to.length > 254) {
    throw new Error('the recipient of a mail must be one bare address');
  }
  if (/\p{Cc}|[\u2028\u2029]/u.test(subject)) throw new Error('the subject of a mail must be one line');
}
