import type { MailSender } from './mail.ts';
import { createOutboxMail } from './outbox-mail.ts';
import { createSmtpMail } from './smtp-mail.ts';

export type MailSettings =
  | { smtpUrl: string; from: string }
  | { directory: string; onLink: (mail: { to: string; link: string }) => void }
  | undefined;

/** The sender that the settings say; without any it refuses, and whoever wanted to send logs that. */
export function createMail(settings: MailSettings): MailSender & { stop(): void } {
  const stop = () => {};
  if (settings === undefined) {
    const send = async () => {
      throw new Error('no way to send mail is set up');
    };
    return { send, stop };
  }
  return 'smtpUrl' in settings ? createSmtpMail(settings) : { ...createOutboxMail(settings), stop };
}
