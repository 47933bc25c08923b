import type { RateLimiter, RatePolicy } from '@gatehouse/api/http/rate-limit';
import { t } from '../../texts/texts.ts';
import { mail, plainName, sentences } from '../accounts/mail-document.ts';
import { type Notice, type NoticeReader, nothingToDo, revokeAllAccess } from '../accounts/notice.ts';
import type { Application } from './application.ts';
import type { Manager } from './ownership.ts';

/** The kinds of new credentials of an application. */
export type NewCredential =
  | { what: 'a client secret' | 'public keys' }
  | { what: 'a federated credential'; name: string; issuer: string }
  | { what: 'an API key' | 'an API key in place of another'; name: string };

/** Tells the owner of an application what it has been given, and by whom if it was not the owner. Never rejects. */
export type NotifyCredential = (
  application: Pick<Application, 'owner' | 'name'>,
  credential: NewCredential,
  maker?: Pick<Manager, 'id'>,
) => void;

/** The credentials that one person makes for applications of another, who gets a mail about each. */
export const CREDENTIALS_FOR_OTHERS: RatePolicy = {
  ...{ name: 'credentials for others', quota: 20, seconds: 3600 },
};

/** Counts a credential before a member makes it. Admins make those of a whole deployment, by a configuration file. Throws `rate_limited`. */
export type LimitCredentials = (
  application: Pick<Application, 'owner'>,
  maker: Pick<Manager, 'id' | 'role'>,
) => Promise<void>;

export const limitCredentialsBy =
  (limiter: Pick<RateLimiter, 'count'>): LimitCredentials =>
  async ({ owner }, { id, role }) => {
    if (owner !== null && owner !== id && role !== 'admin') await limiter.count(`${id} ${owner}`);
  };

/** `by` is the id of a person other than the owner, who made it. */
export function credentialCreated(
  application: string,
  credential: NewCredential,
  by?: string | undefined,
): Notice {
  return {
    ...{ kind: 'new_credential', isUnlimited: true, by },
    write: ({ account, by: maker }) =>
      mail(t('A new API credential was created'), [
        sentences(
          described(plainName(application), credential),
          t('It belongs to your {product} account {username}.', account),
        ),
        ...(maker === undefined ? [nothingToDo(), revokeAllAccess()] : [madeBy(maker)]),
      ]),
  };
}

function madeBy({ username, role }: NonNullable<NoticeReader['by']>): string {
  const name = plainName(username);
  return sentences(
    role === 'admin'
      ? t('The credential was made by {name}, an admin.', { name })
      : t('The credential was made by {name}, a member of the application.', { name }),
    t('If you did not expect it, remove it in the dashboard.'),
  );
}

function described(application: string, credential: NewCredential): string {
  switch (credential.what) {
    case 'a client secret':
      return t('Your application “{application}” got a client secret.', { application });
    case 'public keys':
      return t('Your application “{application}” got public keys.', { application });
    case 'a federated credential':
      return t('Your application “{application}” now accepts tokens of {issuer} (“{credential}”).', {
        ...{ application, issuer: credential.issuer, credential: plainName(credential.name) },
      });
    case 'an API key':
      return t('Your application “{application}” got an API key, “{key}”.', {
        ...{ application, key: plainName(credential.name) },
      });
    case 'an API key in place of another':
      return t('Your application “{application}” got an API key in place of another, “{key}”.', {
        ...{ application, key: plainName(credential.name) },
      });
  }
}
