import t from 'tap';
import { readUsersConfig, USERS_DEFAULTS } from '../src/config.ts';

const REQUIRED = {
  PUBLIC_URL: 'https://id.example.com',
  USERS_MONGODB_URI: 'mongodb://localhost/users',
  IDENTITY_URL: 'http://identity:3000',
  ITEMS_URL: 'http://items:3000',
  COMMERCE_URL: 'http://commerce:3000',
  NOTIFICATIONS_URL: 'http://notifications:3000',
  USERS_CLIENT_SECRET: 'secret',
  NATS_URL: 'nats://localhost',
};

t.test('optional settings', async (t) => {
  const config = readUsersConfig(REQUIRED);
  t.match(config, { v1Profile: 'A', v2Profile: 'B2', rateLimit: 'on' });
  t.strictSame(config.filtersSunset, new Date('2027-07-10T00:00:00.000Z'));
  t.strictSame(config.firstUsers, []);
  const { v1Profile, v2Profile } = config;
  t.strictSame({ v1Profile, v2Profile }, USERS_DEFAULTS);
});

t.test('the profiles that answer without a pin, and the end of the deprecated filters', async (t) => {
  const config = readUsersConfig({
    ...REQUIRED,
    USERS_V1_PROFILE: 'G',
    USERS_V2_PROFILE: 'B1',
    LEGACY_FILTERS_SUNSET: '2029-12-31',
  });
  t.match(config, { v1Profile: 'G', v2Profile: 'B1' });
  t.equal(config.filtersSunset.toISOString(), '2029-12-31T00:00:00.000Z');
  t.match(readUsersConfig({ ...REQUIRED, USERS_V1_PROFILE: 'E' }), { v1Profile: 'E', v2Profile: 'B2' });
});

t.test('users created at the first start', async (t) => {
  const admin = {
    USERS_ADMIN_USERNAME: 'admin',
    USERS_ADMIN_EMAIL: 'admin@example.org',
    USERS_ADMIN_PASSWORD: 'correct horse',
  };
  t.strictSame(readUsersConfig({ ...REQUIRED, ...admin }).firstUsers, [
    { username: 'admin', email: 'admin@example.org', password: 'correct horse', role: 'admin' },
  ]);
  t.throws(() => readUsersConfig({ ...REQUIRED, ...admin, USERS_ADMIN_EMAIL: '' }), {
    name: 'SettingsError',
  });
});
