import t from 'tap';
import { readItemsConfig } from '../src/config.ts';

const REQUIRED = {
  PUBLIC_URL: 'https://id.example.com',
  ITEMS_MONGODB_URI: 'mongodb://localhost/items',
  IDENTITY_URL: 'http://identity:3000',
  ITEMS_CLIENT_SECRET: 'secret',
  NATS_URL: 'nats://localhost',
};

t.test('settings', async (t) => {
  t.match(readItemsConfig(REQUIRED), { defaultProfile: 'offset', clientSecret: 'secret', rateLimit: 'on' });
  t.equal(readItemsConfig({ ...REQUIRED, ITEMS_DEFAULT_PROFILE: 'cursor' }).defaultProfile, 'cursor');
  const wrong = { ITEMS_DEFAULT_PROFILE: 'page', LEGACY_FILTERS_SUNSET: '2026-01-01' };
  for (const name of [...Object.keys(REQUIRED), ...Object.keys(wrong)]) {
    t.throws(() => readItemsConfig(wrong), { message: new RegExp(`The setting ${name} `) }, name);
  }
});
