import { described, oneOf, optional, type SettingValues, secret, text, url } from '@gatehouse/core/config';

const SMTP_EXAMPLE = 'smtps://user:password@smtp.example.com';
const SENDER_EXAMPLE = 'Gatehouse <no-reply@example.com>';

/** The settings of what identity sends mails to people with about their accounts. */
export const accountMailSettings = {
  accountSmtpUrl: described(
    'The server by which mails are sent to people about their accounts. Without it, nobody can ask for a new password.',
    optional(url('IDENTITY_SMTP_URL', ['smtp:', 'smtps:'])),
    SMTP_EXAMPLE,
  ),
  accountMailFrom: described(
    'The sender of these mails. Set together with `IDENTITY_SMTP_URL`.',
    optional(text('IDENTITY_MAIL_FROM')),
    SENDER_EXAMPLE,
  ),
};

/** The settings of what notifications are sent with. */
export const messageProviderSettings = {
  smtpUrl: described(
    'The server by which notifications of type `email` are sent. Without it, they are refused.',
    optional(url('NOTIFICATIONS_SMTP_URL', ['smtp:', 'smtps:'])),
    SMTP_EXAMPLE,
  ),
  mailFrom: described(
    'Their sender. Set together with `NOTIFICATIONS_SMTP_URL`.',
    optional(text('NOTIFICATIONS_MAIL_FROM')),
    SENDER_EXAMPLE,
  ),
  smsUrl: described(
    'The gateway for the type `sms`, with its credentials: it takes messages as Twilio does.',
    optional(url('NOTIFICATIONS_SMS_URL', ['https:', 'http:'])),
    'https://ACCOUNT:TOKEN@api.twilio.com/2010-04-01/Accounts/ACCOUNT/Messages.json',
  ),
  smsFrom: described(
    'Their sender. Set together with `NOTIFICATIONS_SMS_URL`.',
    optional(text('NOTIFICATIONS_SMS_FROM')),
    '+15005550006',
  ),
  vapidKey: described(
    'The key for the type `push` (Web Push): a private P-256 key, 32 bytes in base64url. docs/guides/deploy-with-docker.md ' +
      'says how to make one.',
    optional(secret('NOTIFICATIONS_VAPID_PRIVATE_KEY')),
  ),
  vapidSubject: described(
    'A `mailto:` or `https:` address for the operators of push services. Set together with the key.',
    optional(text('NOTIFICATIONS_VAPID_SUBJECT')),
    'mailto:ops@example.com',
  ),
  pushToPrivateNetworks: described(
    'Whether push subscriptions may lead to private networks.',
    oneOf('NOTIFICATIONS_PUSH_TO_PRIVATE_NETWORKS', ['on', 'off'], 'off'),
  ),
};

/** The mail is undefined when none is sent; `rest` are the other values. The problems are sentences for a SettingsError. */
export function accountMailOf<V extends SettingValues<typeof accountMailSettings>>(values: V) {
  const { accountSmtpUrl: smtpUrl, accountMailFrom: from, ...rest } = values;
  return {
    mail: smtpUrl === undefined || from === undefined ? undefined : { smtpUrl, from },
    rest,
    problems: together(smtpUrl, from, 'IDENTITY_SMTP_URL and IDENTITY_MAIL_FROM'),
  };
}

/** The providers by the type of the messages that are sent with them, as accountMailOf; a type without one is left out. */
export function messageProvidersOf<V extends SettingValues<typeof messageProviderSettings>>(values: V) {
  const { smtpUrl, mailFrom, smsUrl, smsFrom, vapidKey, vapidSubject, pushToPrivateNetworks, ...rest } =
    values;
  const problems = [
    ...together(smtpUrl, mailFrom, 'NOTIFICATIONS_SMTP_URL and NOTIFICATIONS_MAIL_FROM'),
    ...together(smsUrl, smsFrom, 'NOTIFICATIONS_SMS_URL and NOTIFICATIONS_SMS_FROM'),
    ...together(vapidKey, vapidSubject, 'NOTIFICATIONS_VAPID_PRIVATE_KEY and NOTIFICATIONS_VAPID_SUBJECT'),
  ];
  const sms = smsUrl === undefined ? undefined : URL.parse(smsUrl);
  const isLocal = sms?.hostname === 'localhost' || sms?.hostname === '127.0.0.1';
  if (sms === null || (sms?.protocol === 'http:' && !isLocal)) {
    problems.push('NOTIFICATIONS_SMS_URL must be an https URL, unless it leads to this machine.');
  }
  if (vapidKey !== undefined && !/^[\w-]{43}$/.test(vapidKey)) {
    problems.push('NOTIFICATIONS_VAPID_PRIVATE_KEY must be 32 bytes in base64url.');
  }
  if (vapidSubject !== undefined && !/^(?:mailto:|https:\/\/)\S+$/.test(vapidSubject)) {
    problems.push('NOTIFICATIONS_VAPID_SUBJECT must begin with mailto: or https://.');
  }
  const toPrivateNetworks = pushToPrivateNetworks === 'on';
  const providers = {
    ...(smtpUrl !== undefined && mailFrom !== undefined ? { email: { smtpUrl, from: mailFrom } } : {}),
    ...(smsUrl !== undefined && smsFrom !== undefined ? { sms: { url: smsUrl, from: smsFrom } } : {}),
    ...(vapidKey !== undefined && vapidSubject !== undefined
      ? { push: { privateKey: vapidKey, subject: vapidSubject, toPrivateNetworks } }
      : {}),
  };
  return { providers, rest, problems };
}

function together(a: unknown, b: unknown, names: string): string[] {
  return (a === undefined) === (b === undefined) ? [] : [`${names} must be set together.`];
}
