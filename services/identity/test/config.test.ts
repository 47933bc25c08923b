import { CLIENT_SERVICES, clientSecretSetting } from '@gatehouse/core/services';
import t from 'tap';
import { readIdentityConfig } from '../src/config.ts';

const REQUIRED = {
  PUBLIC_URL: 'https://id.example.com',
  IDENTITY_MONGODB_URI: 'mongodb://localhost/identity',
  USERS_URL: 'http://users:3000',
  ITEMS_URL: 'http://items:3000',
  COMMERCE_URL: 'http://commerce:3000',
  NOTIFICATIONS_URL: 'http://notifications:3000',
  NATS_URL: 'nats://localhost',
  IDENTITY_MASTER_KEY: 'ab'.repeat(32),
};
const secrets = Object.fromEntries(
  CLIENT_SERVICES.map((service) => [clientSecretSetting(service), `${service}-`.padEnd(32, 'x')]),
);

t.test('every other service is a client, with its own secret', async (t) => {
  t.strictSame(
    readIdentityConfig({ ...REQUIRED, ...secrets }).services,
    CLIENT_SERVICES.map((id) => ({ id, secret: `${id}-`.padEnd(32, 'x') })),
  );
});

t.test('missing and short settings are named, and not quoted', async (t) => {
  const requirement = (name: string) => `The setting ${name} is required.`;
  t.throws(() => readIdentityConfig({}), {
    name: 'SettingsError',
    message: Object.keys({ ...REQUIRED, ...secrets })
      .map(requirement)
      .join('\n'),
  });
  for (const name of Object.keys(secrets)) {
    t.throws(() => readIdentityConfig({ ...REQUIRED, ...secrets, [name]: '' }), {
      name: 'SettingsError',
      message: requirement(name),
    });
    t.throws(() => readIdentityConfig({ ...REQUIRED, ...secrets, [name]: 'x'.repeat(31) }), {
      name: 'SettingsError',
      message: `The setting ${name} must have 32 characters or more.`,
    });
  }
});
