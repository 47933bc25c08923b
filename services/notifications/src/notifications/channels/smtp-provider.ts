import { createSmtpMail } from '@gatehouse/mail/smtp-mail';
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
    async send({ id, text }, to, signal) {
      const subject = subjectOf(text);
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

/** Errors of connections that were never made. */
const UNCONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
const SETUP_TIMEOUTS = new Set(['CONNECT_TIMEOUT', 'GREETING_TIMEOUT', 'UPGRADE_TIMEOUT']);
/** Codes of nodemailer for what comes before any mail. */
const SETUP_CODES = new Set(['EDNS', 'ETLS', 'EPROXY', 'EPROTOCOL']);

/** By the reply code of the server (RFC 5321 §4.2.1); its text is left out, since it may have the address. */
function rethrow(error: unknown): never {
  const { code, originalCode, responseCode, command, timeoutType } = Object(error) as {
    code?: string;
    originalCode?: string;
    responseCode?: number;
    command?: string;
    timeoutType?: string;
  };
  const options = { cause: error };
  if (code === 'EAUTH' || code === 'ENOAUTH') {
    throw new ProviderError('unreachable', 'The mail server refuses our credentials.', options);
  }
  // Nodemailer's own check, and that of packages/mail.
  if (code === undefined || (code === 'EENVELOPE' && command === 'API')) {
    throw new ProviderError('rejected', 'The recipient’s email address cannot be used.', options);
  }
  const isOfMail = /^(?:MAIL FROM|RCPT TO|DATA)/.test(command ?? '');
  if (responseCode !== undefined && isOfMail && responseCode !== 421) {
    const isFinal = responseCode >= 500;
    const message = isFinal ? 'The mail server has refused it' : 'The mail server does not take it now';
    throw new ProviderError(isFinal ? 'rejected' : 'temporary', `${message} (${responseCode}).`, options);
  }
  const isBefore =
    responseCode !== undefined ||
    UNCONNECTED.has(originalCode ?? '') ||
    SETUP_TIMEOUTS.has(timeoutType ?? '') ||
    SETUP_CODES.has(code ?? '');
  if (isBefore) throw new ProviderError('unreachable', 'The mail server cannot be reached.', options);
  // Nodemailer does not say how far it had come.
  throw new ProviderError('failing', 'The connection to the mail server was lost.', {
    ...options,
    mayBeAccepted: true,
  });
}
