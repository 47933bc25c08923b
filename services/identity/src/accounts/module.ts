import type { Logger } from '@gatehouse/kit/logger';
import type { Connection } from 'mongoose';
import type { Accounts } from './account.ts';
import { createAccountMails } from './account-mails.ts';
import { createMailSender, type MailSettings } from './mail-settings.ts';
import { createOneTimeLinks } from './one-time-link.ts';
import { createOneTimeLinkStore } from './one-time-link-store.ts';

/** The mails about accounts, and the links in them. */
export function createAccountsModule(options: {
  connection: Connection;
  issuer: string;
  accounts: Accounts;
  mail: MailSettings | undefined;
  countMail(userId: string): Promise<unknown>;
  logger: Logger;
}) {
  const { mail, connection, ...rest } = options;
  const store = createOneTimeLinkStore(connection);
  const links = createOneTimeLinks(store);
  const sender = createMailSender(mail);
  return {
    links,
    mails: createAccountMails({ ...rest, links, mail: sender }),
    collections: [store.collection],
    stop: sender.stop,
  };
}
