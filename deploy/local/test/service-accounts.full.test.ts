import { randomUUID } from 'node:crypto';
import { mkdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLIENT_SERVICES, clientSecretSetting } from '@gatehouse/core/services';
import { jsonRequest } from '@gatehouse/testing/json-request';
import { skip } from '@gatehouse/testing/nats-server';
import { spawnNode, until } from '@gatehouse/testing/processes';
import { createServiceAccountIssuer } from '@gatehouse/testing/service-account-issuer';
import { decodeJwt } from 'jose';
import t from 'tap';
import { NAMES, type Name, startCluster, tokenFrom } from './cluster.ts';
import { temporaryDir } from './gatehouse.ts';

t.setTimeout(120_000);

const ISSUER = 'https://id.example.org';
const cluster = await createServiceAccountIssuer();
const directory = temporaryDir(t);
const fileOf = (service: string) => join(directory, service, 'token');

/** Replaces the token of a service as the kubelet does: `token` leads to `..data/token`, and `..data` to another directory. */
function project(service: string, token: string): void {
  const volume = join(directory, service);
  const next = `..${randomUUID()}`;
  mkdirSync(join(volume, next), { recursive: true });
  writeFileSync(join(volume, next, 'token'), token, { mode: 0o600 });
  symlinkSync(next, join(volume, '..next'));
  const data = join(volume, '..data');
  const before = readlink(data);
  renameSync(join(volume, '..next'), data);
  if (before === undefined) symlinkSync('..data/token', fileOf(service));
  else rmSync(join(volume, before), { recursive: true });
}

function readlink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

const upper = (name: string) => name.toUpperCase();
const environment = {
  IDENTITY_CLIENT_ASSERTION_ISSUER: cluster.issuer,
  IDENTITY_CLIENT_ASSERTION_JWKS: JSON.stringify(cluster.jwks),
  ...Object.fromEntries(
    CLIENT_SERVICES.flatMap((name) => [
      [clientSecretSetting(name), ''],
      [`${upper(name)}_CLIENT_ASSERTION_SUBJECT`, cluster.subjectOf(name)],
      [`${upper(name)}_CLIENT_ASSERTION_FILE`, fileOf(name)],
    ]),
  ),
};

t.test('services authenticate by the tokens of their service accounts', { skip }, async (t) => {
  for (const name of NAMES) project(name, await cluster.sign(name, ISSUER));
  const { identity, users, others } = await startCluster(t, environment, ['commerce']);
  const machine = await tokenFrom(identity.base);
  const made = await jsonRequest<{ id: string }>('POST', `${users.base}/v2/users`, {
    token: machine,
    body: { username: 'ann', email: 'ann@example.org', password: 'correct horse battery' },
  });
  t.equal(made.status, 201);
  const product = await jsonRequest<{ id: string }>('POST', `${others.commerce.base}/v2/products`, {
    token: machine,
    body: { name: 'Tea', price: 2, currency: 'EUR', category: 'Tea', stock: 9 },
  });
  const items = [{ product_id: product.body.id, quantity: 1 }];
  // Commerce has no access token yet for users, which it asks whether the person exists.
  const order = () =>
    jsonRequest('POST', `${others.commerce.base}/v2/orders`, {
      token: machine,
      body: { user_id: made.body.id, items, currency: 'EUR' },
    });

  for (const [token, reason] of [
    [cluster.sign('items', ISSUER), 'has another subject than the service'],
    [cluster.sign('commerce', cluster.issuer), 'is not for this issuer alone'],
    [cluster.sign('commerce', ISSUER, { age: 3720 }), 'has expired'],
  ] as const) {
    project('commerce', await token);
    t.match(await order(), { status: 503 }, reason);
    const line = `"client":"commerce","sub":"${decodeJwt(await token).sub}"`;
    await until(() => identity.process.output().includes(reason), 5000);
    const logged =
      identity.process
        .output()
        .split('\n')
        .find((it) => it.includes(reason)) ?? '';
    t.ok(logged.includes(line), 'identity logs whose it is');
    for (const { process } of [identity, others.commerce])
      t.notOk(process.output().includes(await token), 'and no log has the token');
  }
  project('commerce', await cluster.sign('commerce', ISSUER));
  t.match(await order(), { status: 201 }, 'the next token is read without a restart');

  await others.commerce.kill();
  project('commerce', await cluster.sign('commerce', ISSUER, { age: 3720 }));
  const restarted = others.commerce.restart();
  const reason = 'invalid_client: The token has expired.';
  await until(() => others.commerce.process.output().includes(reason), 30_000);
  project('commerce', await cluster.sign('commerce', ISSUER));
  await restarted;
  t.equal(await others.commerce.process.readiness(), 200, 'a start waits for a token that is accepted');

  const secret = { client_id: 'commerce', client_secret: '' };
  for (const client_secret of ['', 'undefined', 'x'.repeat(32)]) {
    const sent = { ...secret, client_secret, grant_type: 'client_credentials', scope: 'internal' };
    const resource = `${ISSUER}/internal/users`;
    const response = await fetch(`${identity.base}/oauth2/token`, {
      ...{ method: 'POST', body: new URLSearchParams({ ...sent, resource }) },
      headers: { 'x-forwarded-proto': 'https' },
    });
    t.ok([400, 401].includes(response.status), `no secret is accepted, such as ${client_secret}`);
  }
});

t.test('a service has a secret or a token, and not both', { skip }, async (t) => {
  const service = (name: Name) =>
    new URL(`../../../services/${name}/src/service.ts`, import.meta.url).pathname;
  const both = 'exclude one another';
  for (const [name, env, message] of [
    ['users', {}, 'The setting USERS_CLIENT_SECRET is required.'],
    [
      'users',
      { USERS_CLIENT_SECRET: 'x'.repeat(32), USERS_CLIENT_ASSERTION_FILE: '/token' },
      `The settings USERS_CLIENT_SECRET and USERS_CLIENT_ASSERTION_FILE ${both}.`,
    ],
    [
      'identity',
      { USERS_CLIENT_SECRET: 'x'.repeat(32), USERS_CLIENT_ASSERTION_SUBJECT: 'users' },
      `The settings USERS_CLIENT_SECRET and USERS_CLIENT_ASSERTION_SUBJECT ${both}.`,
    ],
  ] as const) {
    const { child, ended, output } = spawnNode(service(name), env);
    await ended;
    t.equal(child.exitCode, 1);
    t.ok(output().split('\n').includes(message), message);
  }
});
