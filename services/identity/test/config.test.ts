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

t.test('the webhook of the audit log has a URL and a secret', async (t) => {
  const url = { IDENTITY_AUDIT_WEBHOOK_URL: 'https://siem.example/hook' };
  const secret = { IDENTITY_AUDIT_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32).toString('base64')}` };
  t.match(readIdentityConfig({ ...REQUIRED, ...secrets, ...url, ...secret }), {
    auditWebhookUrl: 'https://siem.example/hook',
  });
  for (const env of [url, secret])
    t.throws(() => readIdentityConfig({ ...REQUIRED, ...secrets, ...env }), {
      message: /must be set together/,
    });
});

t.test('a service has a subject in place of its secret, and then there is an issuer', async (t) => {
  const issuer = { IDENTITY_CLIENT_ASSERTION_ISSUER: 'https://cluster.example' };
  const users = { USERS_CLIENT_SECRET: '', USERS_CLIENT_ASSERTION_SUBJECT: 'system:serviceaccount:a:users' };
  const { services } = readIdentityConfig({ ...REQUIRED, ...secrets, ...users, ...issuer });
  t.match(services, [
    { id: 'users', subject: 'system:serviceaccount:a:users', secret: /^[\w-]{43}$/ },
    { id: 'items', secret: secrets.ITEMS_CLIENT_SECRET, subject: undefined },
  ]);
  const together = 'IDENTITY_CLIENT_ASSERTION_ISSUER and the subjects of services must be set together.';
  for (const [env, message] of [
    [users, together],
    [issuer, together],
    [
      { ...users, ...issuer, USERS_CLIENT_SECRET: secrets.USERS_CLIENT_SECRET },
      'The settings USERS_CLIENT_SECRET and USERS_CLIENT_ASSERTION_SUBJECT exclude one another.',
    ],
    [
      { ...users, ...issuer, IDENTITY_CLIENT_ASSERTION_JWKS: '{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}' },
      /^The setting IDENTITY_CLIENT_ASSERTION_JWKS must contain public keys only/,
    ],
    [
      { ...users, IDENTITY_CLIENT_ASSERTION_ISSUER: 'http://cluster.example' },
      'The setting IDENTITY_CLIENT_ASSERTION_ISSUER must begin with https://.',
    ],
  ] as const)
    t.throws(() => readIdentityConfig({ ...REQUIRED, ...secrets, ...env }), { message });
});
