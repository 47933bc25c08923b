import t from 'tap';
import { readNotificationsConfig } from '../src/config.ts';

const REQUIRED = {
  PUBLIC_URL: 'https://id.example.com',
  NOTIFICATIONS_MONGODB_URI: 'mongodb://localhost/notifications',
  IDENTITY_URL: 'http://identity:3000',
  NOTIFICATIONS_CLIENT_SECRET: 'secret',
  NATS_URL: 'nats://localhost',
  USERS_URL: 'http://users:3000',
};

t.test('settings', async (t) => {
  t.match(readNotificationsConfig(REQUIRED), { clientSecret: 'secret', rateLimit: 'on' });
  for (const name of Object.keys(REQUIRED)) {
    t.throws(() => readNotificationsConfig({}), { message: new RegExp(`The setting ${name} `) }, name);
  }
});
