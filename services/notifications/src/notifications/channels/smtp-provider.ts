import { createSmtpMail, SmtpError } from '@gatehouse/mail/smtp-mail';
import { type Message, type Provider, ProviderError } from './provider.ts';

const MAX_SUBJECT_LENGTH = 78;

/** Sends email by SMTP; the address is one of the recipient's. A mail has the same Message-ID in every attempt. */
export function createSmtpProvider(options: {
  smtpUrl: string;
  from: string;
  /** The domain of the Message-IDs. */
  domain: string;
}): Provider<string> {
  const { domain, ...settings } = options;
  const mail = createSmtpMail(settings);
  return {
    async send({ id, text, subject = subjectOf(text) }, to, signal) {
      const content = { to, subject, text, messageId: `${id}@${domain}` };
      await mail.send(content, signal).catch(rethrow);
      return { providerId: null };
    },
    async check() {
      await mail.check().catch(rethrow);
    },
    stop: mail.stop,
  };
}

/** The first line of the text that is not blank, cut to the length that mail programs show (RFC 5322 §2.1.1). */
export function subjectOf(text: Message['text']): string {
  const line = text.trimStart().split(/[\p{Cc}\u2028\u2029]/u, 1)[0] ?? '';
  const characters = [...line.trim()];
  if (characters.length <= MAX_SUBJECT_LENGTH) return characters.join('');
  return `${characters
    .slice(0, MAX_SUBJECT_LENGTH - 1)
    .join('')
    .trimEnd()}…`;
}

/** By the reply code of the server (RFC 5321 §4.2.1); its text is left out, since it may have the address. */
function rethrow(error: unknown): never {
  const options = { cause: error };
  // The error of nodemailer, or of the checks of packages/mail.
  const { cause, contentSent } = error instanceof SmtpError ? error : { cause: error, contentSent: false };
  const { code, responseCode, command } = Object(cause) as {
    code?: string;
    responseCode?: number;
    command?: string;
  };
  if (code === 'EAUTH' || code === 'ENOAUTH') {
    throw new ProviderError('unreachable', 'The mail server refuses our credentials.', options);
  }
  if (code === undefined || (code === 'EENVELOPE' && command === 'API')) {
    throw new ProviderError('rejected', 'The recipient’s email address cannot be used.', options);
  }
  // Before the content, 421 says nothing of the mail: the server ends the session.
  const isOfMail = /^(?:MAIL FROM|RCPT TO|DATA)/.test(command ?? '') && (responseCode !== 421 || contentSent);
  if (responseCode !== undefined && responseCode >= 400 && isOfMail) {
    const isFinal = responseCode >= 500;
    const message = isFinal ? 'The mail server has refused it' : 'The mail server does not take it now';
    throw new ProviderError(isFinal ? 'rejected' : 'temporary', `${message} (${responseCode}).`, options);
  }
  if (!contentSent) throw new ProviderError('unreachable', 'The mail server cannot be reached.', options);
  // The cause may be a lost connection, a timeout or an invalid reply.
  throw new ProviderError('failing', 'The mail server did not say whether it has accepted the message.', {
    ...options,
    mayBeAccepted: true,
  });
}
