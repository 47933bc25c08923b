import type { Readable } from 'node:stream';
import { during, startSpan } from '@gatehouse/core/tracing';
import type { Transporter } from 'nodemailer';
import type SMTPPool from 'nodemailer/lib/smtp-pool';
import { type MailSender, refuseInjection } from './mail.ts';

/** In milliseconds. */
const TIMEOUTS = {
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  socketTimeout: 20_000,
  dnsTimeout: 5000,
};
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);
const MAX_CONNECTIONS = 5;

/** As far as we know, the mail was not accepted; the cause is nodemailer's error. */
export class SmtpError extends Error {
  override name = 'SmtpError';
  /**
   * Whether the server was given the content, or a part of it. Then it may have accepted the mail, unless its reply to the
   * content says otherwise (RFC 5321 §4.2.5 and §6.1).
   */
  readonly contentSent: boolean;

  constructor(cause: unknown, contentSent: boolean) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.contentSent = contentSent;
  }
}

/** Passes a mail to nodemailer: gets the stream from which each attempt at its delivery reads the content. */
type Watched = { onContent(content: Readable): void };

export type SmtpMail = MailSender & {
  /** Connects and signs in without sending anything; throws when that fails. */
  check(): Promise<void>;
  stop(): void;
};

/**
 * Sends mail by SMTP (RFC 5321). `smtpUrl` is smtp: or smtps: with user, password, host and port; TLS is required,
 * by STARTTLS for smtp: (RFC 3207), unless the host is this machine. `send` throws an SmtpError once the mail is well-formed.
 * @throws Error for any other URL
 */
export function createSmtpMail(options: { smtpUrl: string; from: string }): SmtpMail {
  const settings = transportSettings(options);
  let transport: Promise<Transporter<SMTPPool.SentMessageInfo>> | undefined;

  /** Loaded for the first mail, as most processes send none. */
  async function load(): Promise<Transporter<SMTPPool.SentMessageInfo>> {
    const { createTransport } = await import('nodemailer');
    const created = createTransport(settings);
    created.use('stream', ({ data, message }, done) => {
      message.processFunc((content) => {
        (data as Partial<Watched>).onContent?.(content);
        return content;
      });
      done();
    });
    return created;
  }

  return {
    async send(mail, signal) {
      refuseInjection(mail);
      transport ??= load();
      const { to, subject, text, html, messageId } = mail;
      let content: Readable | undefined;
      const watched: Watched = {
        onContent(stream) {
          content = stream;
        },
      };
      const message = {
        ...watched,
        from: options.from,
        to: { name: '', address: to },
        subject,
        text,
        ...(html === undefined ? {} : { html }),
        ...(messageId === undefined ? {} : { messageId: `<${messageId}>` }),
        ...(signal === undefined ? {} : { signal }),
        headers: { 'Auto-Submitted': 'auto-generated' },
        // A mail contains only what it is given, no files and no URLs.
        disableFileAccess: true,
        disableUrlAccess: true,
      };
      const loaded = await transport;
      const span = startSpan('send mail', {
        kind: 'client',
        attributes: { 'server.address': settings.host },
      });
      await during(span, () => loaded.sendMail(message)).catch((error: unknown) => {
        // It is read once the server has asked for it, by the reply 354 to DATA.
        throw new SmtpError(error, content?.readableDidRead === true);
      });
    },
    async check() {
      transport ??= load();
      await (await transport).verify();
    },
    stop() {
      void transport?.then((it) => it.close());
    },
  };
}

function transportSettings({ smtpUrl }: { smtpUrl: string }): SMTPPool.Options {
  const { protocol, hostname, port, username, password } = URL.parse(smtpUrl) ?? {};
  if ((protocol !== 'smtp:' && protocol !== 'smtps:') || !hostname) {
    throw new Error('the URL for sending mail must be smtp://user:password@host:port or smtps://…');
  }
  const secure = protocol === 'smtps:';
  const local = LOOPBACK.has(hostname);
  return {
    pool: true,
    maxConnections: MAX_CONNECTIONS,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (secure ? 465 : 587),
    secure,
    requireTLS: !secure && !local,
    // A server on this machine need not prove its identity.
    tls: { minVersion: 'TLSv1.2', rejectUnauthorized: !local },
    ...(username
      ? { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password ?? '') } }
      : {}),
    ...TIMEOUTS,
  };
}
