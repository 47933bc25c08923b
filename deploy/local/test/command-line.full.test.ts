import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createCommandLine } from '@gatehouse/testing/command-line';
import { loginToken } from '@gatehouse/testing/json-request';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { startGatehouse, temporaryDir } from './gatehouse.ts';

// The time limit of the file: each command starts a process, which takes long on a busy machine.
t.setTimeout(600_000);

const gatehouse = await startGatehouse(t, temporaryDir(t));
const { base, demo } = gatehouse;
const { admin: person } = demo;
const directory = temporaryDir(t);
const cli = createCommandLine(base, directory);
const file = join(directory, 'gatehouse/profiles.json');

await t.test('signing in', async (t) => {
  const before = await cli.run(['whoami']);
  t.match(before, { status: 1, stdout: '', stderr: /^You are signed out of .* Run `gatehouse login/ });
  const { status, stdout } = await cli.allow(['login'], person);
  t.equal(status, 0);
  t.match(stdout, /\/device\?user_code=[\w-]+\n.*[A-Z]{4}-[A-Z]{4}\n.*as admin\.\n$/);
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.equal(statSync(join(directory, 'gatehouse')).mode & 0o777, 0o700);
  t.match(await cli.json(['whoami']), { username: 'admin', user_id: person.user_id, roles: ['admin'] });
});

const secrets = () => {
  const [{ credentials }] = Object.values(JSON.parse(readFileSync(file, 'utf8'))) as [
    { credentials: { accessToken: string; refreshToken: string; key: { d: string } } },
  ];
  return [credentials.accessToken, credentials.refreshToken, credentials.key.d];
};

type Made = Record<string, string>;
let app: Made = {};
let key: Made = {};

await t.test('a new object shows its secret once, in both forms', async (t) => {
  app = await cli.json<Made>(['applications', 'create', '--name', 'Shop']);
  t.match(app, { client_id: /^app_/, client_secret: /./, name: 'Shop', type: 'machine' });
  key = await cli.json<Made>(['keys', 'create', '--name', 'First', '--application', 'Shop']);
  t.match(key, { id: /./, api_key: /^gatehouse_/ });
  const people = await cli.run(['keys', 'create', '--name', 'Second', '--application', 'Shop']);
  t.match(people, {
    status: 0,
    stdout: /gatehouse_/,
    stderr: /Store the api_key now: it is not shown again/,
  });
});

await t.test('every command, for people and as JSON, with no secret', async (t) => {
  const made = await cli.json<Made>(['keys', 'create', '--name', 'Third', '--application', 'Shop']);
  const commands: [args: string[], human: RegExp, json: object][] = [
    [['whoami'], /username +admin/, { username: 'admin' }],
    [['profiles'], /PROFILE[\s\S]*default/, { data: [{ profile: 'default' }] }],
    [['open'], /\/dashboard$/m, { url: /\/dashboard$/ }],
    [['applications', 'list'], /CLIENT ID[\s\S]*Shop/, { data: Array }],
    [['applications', 'show', 'Shop'], /client_id +app_/, { client_id: app.client_id }],
    [['keys', 'list', '--application', 'Shop'], /First[\s\S]*Second/, { data: [{ id: /./ }] }],
    [['keys', 'show', 'First', '--application', String(app.client_id)], /name +First/, { id: key.id }],
    [['users', 'list'], /admin@/, { data: [{ username: 'admin' }] }],
    [['users', 'show', 'demo'], /status +active/, { id: demo.user.user_id }],
    [['resources', 'list'], /There are no resources/, { data: [] }],
    [['webhooks', 'list'], /There are no webhooks/, { data: [] }],
    [['requests'], /TIME/, { data: Array }],
    [
      ['requests', '--application', 'Demo machine'],
      /\/v1\/users/,
      { data: [{ client_id: demo.machine.client_id }] },
    ],
    [['audit', '--action', 'device.connected'], /device\.connected/, { data: [{ client: 'gatehouse-cli' }] }],
    [['token'], /token_type +DPoP/, { token_type: 'DPoP', access_token: undefined }],
    [['decode', secrets()[0] ?? ''], /client_id +gatehouse-cli/, { claims: { client_id: 'gatehouse-cli' } }],
    [['jobs'], /messages +email +running/, { queues: Array, dead_letters: [] }],
    [['jobs', 'pause', 'messages', 'sms'], /is paused/, { paused: true }],
    [['jobs', 'resume', 'messages', 'sms'], /is running/, { paused: false }],
    [['api', 'GET', '/api/v1/auth/status'], /"authenticated": true/, { authenticated: true }],
    [['completion', 'bash'], /complete .* gatehouse/, {}],
  ];
  for (const [args, human, json] of commands) {
    const name = args.join(' ').slice(0, 60);
    const people = await cli.run(args);
    t.match(people, { status: 0, stdout: human, stderr: args[0] === 'token' ? /--show/ : '' }, name);
    const texts = [people.stdout];
    if (args[0] !== 'completion') {
      const { stdout } = await cli.run([...args, '--json']);
      t.match(JSON.parse(stdout), json, `${name} --json`);
      texts.push(stdout);
    }
    const known = [...secrets(), app.client_secret, key.api_key, made.api_key];
    for (const text of texts) {
      t.notOk(
        known.some((secret) => secret !== undefined && text.includes(secret)),
        `${name} shows no secret`,
      );
      t.notOk(text.includes('\u001b'), 'nor colours without a terminal');
    }
  }
  t.equal((await cli.run(['token', '--show'])).stdout.trim(), secrets()[0]);
});

await t.test('mistakes in the command line end with 2, and nothing on stdout', async (t) => {
  const mistakes: [string[], RegExp][] = [
    [[], /Usage: gatehouse/],
    [['aplications'], /unknown command 'aplications'\n.*Did you mean applications\?/],
    [['applications'], /Usage: gatehouse applications/],
    [['applications', 'create'], /required option '--name/],
    [['keys', 'list'], /required option '--application/],
    [['keys', 'revoke', '--application', 'Shop'], /missing required argument/],
    [['whoami', '--jsn'], /unknown option '--jsn'[\s\S]*--json/],
    [['whoami', 'extra'], /too many arguments/],
    [['requests', '--limit', '0'], /'0' is invalid\. It must be a whole number from 1/],
    [['whoami', '--url', 'gatehouse'], /gatehouse is not a URL/],
    [['whoami', '--url', 'http://gatehouse.example.com'], /must begin with https/],
    [['open', 'moon'], /'moon' is invalid .* Allowed choices are dashboard/],
    [['listen', '--forward-to', 'localhost:4000'], /localhost:4000 is not a URL/],
    [['api', 'GET', 'api'], /must begin with a slash/],
    [['api', 'POST', '/v2/users', '--data', '[1]'], /--data takes a JSON object/],
    [['jobs', 'replay'], /Name the ids of dead letters, or use --all/],
    [['decode', '-'], /There is no token in stdin/],
    [['completion', 'tcsh'], /Allowed choices are bash, zsh, fish/],
  ];
  for (const [args, stderr] of mistakes) {
    t.match(await cli.run(args), { status: 2, stdout: '', stderr }, args.join(' '));
  }
});

await t.test('other failures end with 1 and a sentence', async (t) => {
  await cli.json(['applications', 'create', '--name', 'Twin']);
  await cli.json(['applications', 'create', '--name', 'Twin']);
  const failures: [string[], RegExp][] = [
    [
      ['applications', 'show', 'Nobody'],
      /^There is no application "Nobody"\. To see your applications, run `gatehouse applications list`\.\n$/,
    ],
    [
      ['applications', 'delete', 'Twin'],
      /^2 applications have the name "Twin"\. Use one of their ids: app_\w+, app_\w+\.\n$/,
    ],
    [['applications', 'create', '--name', 'X', '--type', 'toaster'], /type/],
    [['decode', 'gatehouse_x'], /^This is not a JWT/],
    [['whoami', '--profile', 'other'], /Run `gatehouse login --url .* --profile other`/],
    [['whoami', '--url', 'https://elsewhere.example'], /signed out of https:\/\/elsewhere\.example/],
    [['login', '--url', 'http://127.0.0.1:1'], /^http:\/\/127\.0\.0\.1:1 cannot be reached/],
  ];
  for (const [args, stderr] of failures) {
    t.match(await cli.run(args), { status: 1, stdout: '', stderr }, args.join(' '));
  }
});

await t.test('programs come with a token or an API key', async (t) => {
  const withKey = createCommandLine(base, temporaryDir(t), { env: { GATEHOUSE_TOKEN: demo.api_key } });
  t.match(await withKey.json(['whoami']), { client_id: demo.machine.client_id });
  t.match(await withKey.json(['users', 'list']), { data: [{ username: 'admin' }] });
  const other = createCommandLine('', temporaryDir(t), { env: { GATEHOUSE_TOKEN: demo.api_key } });
  t.match(await other.run(['whoami']), { status: 2, stderr: /set GATEHOUSE_URL as well/ });
});

await t.test('a log is followed, a line for each entry', async (t) => {
  const args = ['audit', '--action', 'application.created', '--limit', '1', '--follow', '--json'];
  const following = cli.start(args);
  await until(() => following.stdout().includes('\n'), 20_000);
  await cli.json(['applications', 'create', '--name', 'Followed']);
  await until(() => following.stdout().split('\n').length > 2, 20_000);
  const { stdout } = await following.end();
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  t.equal(new Set(lines.map(({ id }) => id)).size, 2);
  t.ok(lines.every(({ action }) => action === 'application.created'));
});

await t.test('keys and tokens end within a second', async (t) => {
  const isAccepted = async (token: string) =>
    (await fetch(`${base}/v2/users`, { headers: { authorization: `Bearer ${token}` } })).status !== 401;
  t.ok(await isAccepted(String(key.api_key)));
  t.match(await cli.run(['revoke', '-'], key.api_key), { status: 0, stdout: /is revoked/ });
  await until(async () => !(await isAccepted(String(key.api_key))), 1000);
  t.match(await cli.run(['revoke', '-'], key.api_key), { status: 1, stderr: /You have no such API key/ });

  const claims = Buffer.from(JSON.stringify({ iss: 'https://a.example', client_id: 'gatehouse-login' }));
  const foreign = `e30.${claims.toString('base64url')}.c2ln`;
  const otherIssuer =
    /^The token is from the issuer https:\/\/a\.example, and not from http:\/\/localhost:\d+\./;
  t.match(await cli.run(['revoke', foreign]), { status: 1, stdout: '', stderr: otherIssuer });
  t.match(await cli.run(['decode', foreign]), { status: 0, stderr: otherIssuer });

  const login = await loginToken(base, person);
  t.ok(await isAccepted(login));
  t.match(await cli.run(['revoke', '-'], login), { status: 0 });
  await until(async () => !(await isAccepted(login)), 1000);

  const [token = ''] = secrets();
  t.match(await cli.run(['revoke', token]), { status: 0 });
  await until(async () => (await cli.run(['whoami'])).status === 1, 10_000);
  t.equal((await cli.allow(['login'], person)).status, 0);

  const copy = temporaryDir(t);
  cpSync(directory, copy, { recursive: true });
  const thief = createCommandLine(base, copy);
  t.equal((await thief.run(['whoami'])).status, 0);
  t.match(await cli.run(['logout']), { status: 0, stdout: /^You are signed out of / });
  t.match(await thief.run(['whoami']), { status: 1, stderr: /signed out/ });
  t.match(await cli.run(['whoami']), { status: 1, stderr: /signed out/ });
});

await t.test('a token for an API of the person, who allows it once', async (t) => {
  t.equal((await cli.allow(['login'], person)).status, 0);
  const identifier = 'https://notes.example/api';
  const scopes = ['--scopes', 'read:notes=Read your notes'];
  await cli.json(['resources', 'create', '--name', 'Notes', '--identifier', identifier, ...scopes]);
  const show = ['token', '--resource', identifier, '--json'];
  const first = await cli.allow(show, person);
  t.match(JSON.parse(first.stdout), { aud: identifier, scope: 'read:notes', access_token: undefined });
  t.match(await cli.json([...show, '--show']), { aud: identifier, access_token: /^eyJ/ });
  const other = ['token', '--resource', 'https://nobody.example/'];
  t.match(await cli.run(other), { status: 1, stdout: '', stderr: /nobody\.example/ });
  t.match(await cli.json(['profiles']), { data: { length: 1 } });
  const copy = temporaryDir(t);
  cpSync(directory, copy, { recursive: true });
  t.equal((await cli.run(['logout'])).status, 0);
  const thief = createCommandLine(base, copy);
  const all = JSON.parse(readFileSync(join(copy, 'gatehouse/profiles.json'), 'utf8'));
  for (const it of Object.values(all) as { credentials: { expiresAt: number } }[])
    it.credentials.expiresAt = 0;
  writeFileSync(join(copy, 'gatehouse/profiles.json'), JSON.stringify(all));
  t.match(await thief.run(show), { status: 1, stderr: /signed out/ }, 'it has ended, too');
});

await t.test('each profile has its own sign-in, and commands side by side renew a token once', async (t) => {
  t.equal((await cli.allow(['login'], person)).status, 0);
  t.equal((await cli.allow(['login', '--profile', 'other'], demo.user)).status, 0);
  t.match(await cli.json(['whoami', '--profile', 'other']), { username: 'demo' });
  t.match(await cli.json(['whoami']), { username: 'admin' });
  const all = JSON.parse(readFileSync(file, 'utf8'));
  all.default.credentials.expiresAt = 0;
  writeFileSync(file, JSON.stringify(all));
  const ended = await Promise.all([1, 2, 3].map(() => cli.run(['whoami'])));
  t.strictSame(
    ended.map(({ status }) => status),
    [0, 0, 0],
  );
  t.equal(statSync(file).mode & 0o777, 0o600);
});

await t.test('the built program runs on the oldest Node that it names', async (t) => {
  const root = fileURLToPath(new URL('../../../packages/cli/', import.meta.url));
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: root });
  const command = ['npx', '-y', '--prefer-offline', '-p', 'node@18', 'node', join(root, 'dist/gatehouse.js')];
  const env = { GATEHOUSE_TOKEN: await loginToken(base, person) };
  const old = createCommandLine(base, temporaryDir(t), { env, command });
  const exported = await old.run(['export']);
  t.match(exported, { status: 0, stdout: /^applications:$/m });
  const path = join(directory, 'exported.yaml');
  writeFileSync(path, exported.stdout);
  t.match(await old.run(['plan', path]), { status: 0, stdout: 'No changes.\n' });
});
