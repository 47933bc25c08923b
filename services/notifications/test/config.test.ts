import t from 'tap';
import { readNotificationsConfig } from '../src/config.ts';

const REQUIRED = {
  PUBLIC_URL: 'https://id.example.com',
  NOTIFICATIONS_MONGODB_URI: 'mongodb://localhost/notifications',
  IDENTITY_URL: 'http://identity:3000',
  NOTIFICATIONS_CLIENT_SECRET: 'secret',
  NATS_URL: 'nats://localhost',
  NOTIFICATIONS_MASTER_KEY: '0'.repeat(64),
  USERS_URL: 'http://users:3000',
  COMMERCE_URL: 'http://commerce:3000',
  NOTIFICATIONS_URL: 'http://notifications:3000',
};
const read = (more: Record<string, string>) => readNotificationsConfig({ ...REQUIRED, ...more });
const VAPID_KEY = 'nTdZWUwtWFKOl58alWPJLKxFCTUYMUaf2S1OIiUKu18';

t.test('settings', async (t) => {
  t.match(readNotificationsConfig(REQUIRED), {
    clientSecret: 'secret',
    rateLimit: 'on',
    sending: { slots: 16, providers: {} },
    webhooks: { slots: 256, networks: [] },
  });
  for (const name of Object.keys(REQUIRED)) {
    t.throws(() => readNotificationsConfig({}), { message: new RegExp(`The setting ${name} `) }, name);
  }
});

t.test('providers', async (t) => {
  const { sending } = read({
    NOTIFICATIONS_SLOTS: '0',
    NOTIFICATIONS_SMTP_URL: 'smtps://user:password@smtp.example.com',
    NOTIFICATIONS_MAIL_FROM: 'no-reply@example.com',
    NOTIFICATIONS_SMS_URL: 'https://AC1:token@api.twilio.com/2010-04-01/Accounts/AC1/Messages.json',
    NOTIFICATIONS_SMS_FROM: '+15005550006',
    NOTIFICATIONS_VAPID_PRIVATE_KEY: VAPID_KEY,
    NOTIFICATIONS_VAPID_SUBJECT: 'mailto:ops@example.com',
  });
  t.match(sending, {
    slots: 0,
    providers: {
      email: { from: 'no-reply@example.com' },
      sms: { from: '+15005550006' },
      push: { privateKey: VAPID_KEY, toPrivateNetworks: false },
    },
  });
  const wrong: [settings: Record<string, string>, message: RegExp][] = [
    [{ NOTIFICATIONS_SMTP_URL: 'smtp://host' }, /MAIL_FROM must be set together/],
    [{ NOTIFICATIONS_MAIL_FROM: 'no-reply@example.com' }, /MAIL_FROM must be set together/],
    [{ NOTIFICATIONS_SMTP_URL: 'http://host' }, /NOTIFICATIONS_SMTP_URL must begin with smtp/],
    [{ NOTIFICATIONS_SMS_URL: 'https://host' }, /SMS_FROM must be set together/],
    [{ NOTIFICATIONS_SMS_URL: 'http://host', NOTIFICATIONS_SMS_FROM: '+1' }, /must be an https URL/],
    [{ NOTIFICATIONS_SMS_URL: 'https://', NOTIFICATIONS_SMS_FROM: '+1' }, /must be an https URL/],
    [{ NOTIFICATIONS_VAPID_PRIVATE_KEY: VAPID_KEY }, /VAPID_SUBJECT must be set together/],
    [
      { NOTIFICATIONS_VAPID_PRIVATE_KEY: 'short', NOTIFICATIONS_VAPID_SUBJECT: 'ops' },
      /must be 32 bytes.*\n.*must begin with mailto/,
    ],
    [{ NOTIFICATIONS_SLOTS: '-1' }, /NOTIFICATIONS_SLOTS must be a whole number/],
    [{ NOTIFICATIONS_PUSH_TO_PRIVATE_NETWORKS: 'yes' }, /must be one of on, off/],
  ];
  for (const [settings, message] of wrong) {
    t.throws(() => read(settings), { message }, JSON.stringify(settings));
  }
});
