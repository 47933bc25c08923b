import t from 'tap';
import { readCommerceConfig } from '../src/config.ts';

const REQUIRED = {
  PUBLIC_URL: 'https://id.example.com',
  COMMERCE_MONGODB_URI: 'mongodb://localhost/commerce',
  IDENTITY_URL: 'http://identity:3000',
  COMMERCE_CLIENT_SECRET: 'secret',
  NATS_URL: 'nats://localhost',
  USERS_URL: 'http://users:3000',
};

t.test('settings', async (t) => {
  t.match(readCommerceConfig(REQUIRED), {
    ...{ clientSecret: 'secret', rateLimit: 'on', maxPendingOrders: 100, pendingOrderHours: 720 },
  });
  for (const name of Object.keys(REQUIRED)) {
    t.throws(() => readCommerceConfig({}), { message: new RegExp(`The setting ${name} `) }, name);
  }
});
