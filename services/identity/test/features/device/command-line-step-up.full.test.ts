import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCommandLine } from '@gatehouse/testing/command-line';
import t from 'tap';
import { build, PASSWORD } from '../../build.ts';

// It starts a process for each command.
t.setTimeout(120_000);

const built = await build(t, { config: { freshSignIn: 'on' } });
const directory = t.testdir({});
const cli = createCommandLine(built.base, directory);
const ann = { username: 'ann', password: PASSWORD };
await built.createPerson('cora');
await cli.allow(['login'], ann);

/** Makes the sign-in an hour older, and lets the command line renew its token. */
async function age() {
  const tokens = (await built.database()).collection<{ payload: string }>('oidc_refresh_tokens');
  for (const { _id, payload } of await tokens.find().toArray()) {
    const { authTime, ...rest } = JSON.parse(payload);
    await tokens.updateOne(
      { _id },
      { $set: { payload: JSON.stringify({ ...rest, authTime: authTime - 3600 }) } },
    );
  }
  const file = join(directory, 'gatehouse/profiles.json');
  const all = JSON.parse(readFileSync(file, 'utf8'));
  all.default.credentials.expiresAt = 0;
  writeFileSync(file, JSON.stringify(all));
}

const create = ['applications', 'create', '--name', 'Shop', '--json'];

t.test('a change that takes a fresh sign-in opens the page again, and is then made', async (t) => {
  t.match(
    await cli.allow(create, ann),
    { status: 0, stderr: /Store the/ },
    'the login was for something else',
  );
  await age();
  t.match(await cli.run(['whoami']), { status: 0 });
  const { status, stdout, stderr } = await cli.allow(create, ann);
  t.equal(status, 0, stderr);
  t.match(JSON.parse(stdout), { client_id: /^app_/ });
  t.match(stderr, /This takes a fresh sign-in\.\nOpen http/);
  t.match(await cli.run(create), { status: 0, stderr: /^Store the/ }, 'it lasts for the next ones');
});

t.test('somebody else who signs in on the page gets nothing', async (t) => {
  await age();
  const other = await cli.allow(create, { ...ann, username: 'cora' });
  t.match(other, { status: 1, stdout: '', stderr: /Sign in as ann on the page/ });
  t.match(await cli.json(['whoami']), { username: 'ann' });
});
