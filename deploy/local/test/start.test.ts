import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import t from 'tap';
import { createUser, startGatehouse, statusOf, temporaryDir, tokenOf } from './gatehouse.ts';

/** The lines of the log that are above level info. */
function warningsIn(output: string): string[] {
  return output.split('\n').filter((line) => /^\{"level":"(?:warn|error|fatal)"/.test(line));
}

t.test('the first start, what it prints, and a second one on another port', async (t) => {
  const dataDir = temporaryDir(t);
  const first = await startGatehouse(t, dataDir, { LOG_LEVEL: 'debug' });
  t.equal(statSync(join(dataDir, 'demo.json')).mode & 0o777, 0o600);
  t.equal(statSync(join(dataDir, 'master.key')).mode & 0o777, 0o600);
  const account = (username: string) => ({ username, password: /^.{12,}$/, user_id: /^usr_/ });
  t.match(first.demo, {
    base_url: `http://localhost:${first.port}`,
    admin: account('admin'),
    user: account('demo'),
    machine: { client_id: /^app_/, scope: 'read:users write:users read:data write:data read:all' },
  });
  const redirect_uri = 'http://127.0.0.1:49152/callback';
  t.match(first.demo, {
    web: { client_id: /^app_/, client_secret: /^.{43}$/, redirect_uri },
    spa: { client_id: /^app_/, redirect_uri },
    native: { client_id: /^app_/, redirect_uri },
    api_key: /^gatehouse_[0-9A-Za-z]{60}$/,
  });
  const names = ['base_url', 'admin', 'user', 'machine', 'web', 'spa', 'native', 'api_key'];
  t.same(Object.keys(first.demo), names);
  t.equal(await statusOf(`${first.base}/v1/users`, first.demo.api_key), 200, 'the API key works');

  const commands = first.output().match(/^(?:TOKEN=|curl ).*$/gm) ?? [];
  t.equal(commands.length, 2);
  const pasted = execFileSync('sh', ['-c', commands.join('\n')], { encoding: 'utf8' });
  const [token = '', list = ''] = pasted.split('\n');
  t.match(token, /^ey/);
  t.match(JSON.parse(list), {
    data: [{ username: 'admin' }, { username: 'demo' }],
    pagination: { total: 2 },
  });

  const bearer = await tokenOf(first);
  const made = await createUser(first.base, bearer, 'ann');
  t.equal(made.status, 201);
  t.equal(await first.end(), 0, 'SIGTERM is a graceful stop');

  // Everything that went through it is known here, so its whole output can be searched.
  const { admin, user, machine, web, api_key: apiKey } = first.demo;
  for (const secret of [
    admin.password,
    user.password,
    machine.client_secret,
    web.client_secret,
    apiKey,
    'correct horse',
    bearer,
    token,
  ]) {
    t.notOk(first.output().includes(secret), 'no secret was printed');
  }
  t.match(first.output(), /"route":"\/v1\/users","status":201,"ms":[\d.]+,"client":"app_/);
  t.match(first.output(), /"req_id":"req_/);
  for (const inPlaceOf of ['instead of being sent', 'in place of NATS']) {
    t.ok(first.output().includes(inPlaceOf), 'what is not the real thing is said');
  }
  t.same(warningsIn(first.output()), [], 'a first start gives nothing to worry about');
  t.notMatch(first.output(), '\x1b', 'no colours where nobody sees them');

  const second = await startGatehouse(t, dataDir, {});
  t.not(second.port, first.port);
  t.same(second.demo, { ...first.demo, base_url: `http://localhost:${second.port}` });
  const renewed = await tokenOf(second);
  const issuer = `http://localhost:${second.port}`;
  const keys = createRemoteJWKSet(new URL(`${second.base}/.well-known/jwks.json`));
  const { payload } = await jwtVerify(renewed, keys, { issuer, audience: `${issuer}/api`, typ: 'at+jwt' });
  t.equal(payload.client_id, machine.client_id);
  t.equal(
    await statusOf(`${second.base}/v1/users/${made.id}`, renewed),
    200,
    'the user of the first start is there',
  );
  t.equal(
    await statusOf(`${second.base}/v1/users/${made.id}`, bearer),
    401,
    'a token of the other issuer is not taken',
  );
  t.equal(await second.end('SIGINT'), 0);
  t.same(warningsIn(second.output()), [], 'nor does a later one');
});
