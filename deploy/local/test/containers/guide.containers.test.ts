import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SERVICE_NAMES } from '@gatehouse/core/services';
import { until } from '@gatehouse/testing/processes';
import t, { type Test } from 'tap';
import { listStatus, revokeAt, tokenFrom } from '../cluster.ts';
import { blocksOf } from '../document.ts';
import { createProject, isStandIn, skip, startLoad } from './compose.ts';

// docs/guides/deploy-with-docker.md from its beginning to its end: every command as it stands, in a real Docker.

t.setTimeout(1_700_000);
if (skip) t.plan(0, skip);
if (skip) process.exit();

const project = await createProject(t);
const { sh, base } = project;
const sections = new Map(
  project
    .guide()
    .split(/^## /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), text]),
);
const followed = new Set<string>();

/** What cannot run as it stands on stand-ins, what is run instead, and what that leaves unproven. */
const INSTEAD: { setting: string; line: RegExp; instead: string; unproven: string }[] = [
  {
    setting: 'NODE_IMAGE',
    line: /^docker compose build --pull$/m,
    instead: 'docker compose build',
    unproven: 'that a newer base image is fetched',
  },
  {
    setting: 'CADDY_IMAGE',
    line: /^docker compose pull caddy mongo nats$/m,
    instead: ':',
    unproven: 'that newer images of Caddy, MongoDB and NATS are fetched',
  },
  {
    setting: 'MONGO_IMAGE',
    line: /^docker compose exec mongo sh -c \\\n.*mongo-init\.js'$/m,
    instead: ':',
    unproven: "MongoDB's users, their passwords and permissions (deploy/docker/mongo-init.js)",
  },
];

/** Runs the commands of a section, or of its blocks from one to another, in one shell; returns what they print. */
async function follow(t: Test, heading: string, from?: number, to?: number): Promise<string> {
  const text = sections.get(heading);
  if (text === undefined) throw new Error(`the guide has no section "${heading}"`);
  followed.add(heading);
  const commands = blocksOf(text)
    .slice(from, to)
    .map((block) => block.text);
  if (commands.length === 0) throw new Error(`"${heading}" has no commands`);
  let script = commands.join('\n');
  for (const { setting, line, instead, unproven } of INSTEAD) {
    if (!isStandIn(setting) || !line.test(script)) continue;
    t.comment(`${process.env[setting]} is a stand-in, which leaves unproven ${unproven}`);
    script = script.replace(line, instead);
  }
  return await sh(script);
}

/** A test that needs those before it to have passed. */
const step = (name: string, test: (t: Test) => Promise<unknown>) =>
  t.test(name, { skip: !t.passing() && 'a test before it has failed' }, test);

const newToken = () => tokenFrom(base, project.machine());
const statusOf = async (path: string, init?: RequestInit) => {
  const response = await fetch(base + path, init);
  await response.body?.cancel();
  return response.status;
};

/** Sends requests while something is done, of which none may fail. */
async function underLoad(t: Test, action: () => Promise<unknown>): Promise<void> {
  const load = await startLoad(t, project);
  const begin = performance.now();
  await action();
  const seconds = Math.round((performance.now() - begin) / 1000);
  t.comment(`in ${seconds} s: ${await load.stop()}`);
  t.same(load.failures.slice(0, 10), [], `none of ${load.requests()} requests has failed`);
  t.same(await load.lost(), [], 'all that was acknowledged is there');
}

await step('Start', async (t) => {
  const begin = performance.now();
  const output = await follow(t, 'Start');
  for (const name of SERVICE_NAMES) t.match(output, name);
  await project.healthy();
  t.comment(
    `all healthy ${Math.round((performance.now() - begin) / 1000)} s after the first command, the build included`,
  );
});

await step('The first administrator and the first machine', async (t) => {
  const reply = JSON.parse(await follow(t, 'The first administrator and the first machine'));
  t.match(reply.data, [{ username: 'admin' }]);
  project.trust();
});

await step('TLS', async (t) => {
  const plain = await fetch('http://localhost/v1/users');
  t.equal(plain.status, 403);
  t.match(await plain.json(), { error: { code: 'https_required' } });
  for (const path of ['/internal/revocations', '/health/ready', '/metrics'])
    t.equal(await statusOf(path), 404, path);
});

await step('Scale', async (t) => {
  await underLoad(t, async () => {
    await follow(t, 'Scale');
    await project.healthy();
  });
  const replicas = await project.containers('users');
  t.equal(replicas.length, 3);
  const authorization = `Bearer ${await newToken()}`;
  for (let n = 0; n < 12; n += 1) t.equal(await statusOf('/v1/users', { headers: { authorization } }), 200);
  for (const { ID } of replicas)
    t.match(await sh(`docker logs ${ID} 2>&1`), '/v1/users', 'each answers some');
  await underLoad(t, () => sh('docker compose up -d'));
  t.equal((await project.containers('users')).length, 1, 'up without the options goes back to one');
});

await step('Metrics', async (t) => {
  t.match(await follow(t, 'Metrics'), /^# TYPE .*http/m);
});

const OBSERVABILITY = 'Prometheus and Grafana';
await step(OBSERVABILITY, async (t) => {
  followed.add(OBSERVABILITY);
  if (isStandIn('NODE_IMAGE')) {
    t.comment(`"${OBSERVABILITY}" is not run: there are no stand-ins for their images`);
    return;
  }
  t.match(await follow(t, OBSERVABILITY), 'SUCCESS');
  await sh(
    'docker compose --profile observability rm --stop --force prometheus alertmanager blackbox-exporter mongodb-exporter nats-exporter grafana',
  );
});

await step('Backup', async (t) => {
  const token = await newToken();
  const load = await startLoad(t, project);
  await sleep(5000);
  const before = load.acknowledged.slice();
  await follow(t, 'Backup', 0, 2);
  const { length } = load.acknowledged;
  await sleep(2000);
  t.comment(await load.stop());
  t.same(load.failures, [], 'no request fails while the backup is made');
  const files = await sh('docker compose run --rm -T --entrypoint ls backup -l');
  t.match(files, /^-rw-------.* gatehouse-mongo-\S+\.tar\.gz$/m);
  t.notMatch(files, 'part', 'the copy that the archive was made from is gone');

  await sh('docker compose down --volumes');
  writeFileSync(join(project.tree, '.env'), readFileSync(join(project.home, 'gatehouse.env')));
  await follow(t, 'Backup', 2);
  await project.healthy();
  t.equal(
    await listStatus(base, token),
    200,
    'a token of before is good, and the root of the edge is still trusted',
  );
  t.same(await load.lost(before), [], `${before.length} writes of before the backup are there`);
  const later = load.acknowledged.slice(length);
  t.equal((await load.lost(later)).length, later.length, 'and none of later');
});

await step('Notifications', async (t) => {
  t.match(await follow(t, 'Notifications'), /^[\w-]{43}$/, 'a key for Web Push');
});

await step('Rotate the signing keys', async (t) => {
  const before = await newToken();
  await follow(t, 'Rotate the signing keys');
  await until(async () => (await listStatus(base, before)) === 401, 10_000);
  t.equal(await listStatus(base, await newToken()), 200);
});

await step('Replace the master key', async (t) => {
  const [OLD = '', NEW] = [project.settings().IDENTITY_MASTER_KEY, await sh('openssl rand -hex 32')];
  const before = await newToken();
  const text = sections.get('Replace the master key') ?? '';
  const steps = text.match(/^\d\. .*(?:\n {3}.*)*/gm) ?? [];
  t.equal(steps.length, 4);
  followed.add('Replace the master key');
  await underLoad(t, async () => {
    for (const step of steps) {
      for (const [, code = ''] of step.matchAll(/`([^`]+)`/g)) {
        const [, value] = /^IDENTITY_MASTER_KEY=(.*)$/.exec(code) ?? [];
        if (value !== undefined) {
          project.set('IDENTITY_MASTER_KEY', value.replace('OLD', OLD).replace('NEW', NEW));
        } else if (code !== '.env') {
          await sh(code);
        }
      }
    }
  });
  t.equal(project.settings().IDENTITY_MASTER_KEY, NEW);
  t.equal(await listStatus(base, before), 200, 'a token from before is good');
});

await step('When NATS is away', async (t) => {
  followed.add('When NATS is away');
  const revoked = await newToken();
  await underLoad(t, async () => {
    await sh('docker compose stop nats');
    t.equal(await listStatus(base, revoked), 200);
    t.equal(await revokeAt(base, revoked, project.machine()), 200);
    const begin = performance.now();
    await until(async () => (await listStatus(base, revoked)) === 401, 10_000);
    t.comment(`a token was revoked within ${Math.round(performance.now() - begin)} ms without NATS`);
    await sleep(5000);
    await sh('docker compose start nats');
    await sleep(5000);
  });
});

const imagesOf = async () => {
  const isService = ({ Service }: { Service: string }) => SERVICE_NAMES.some((name) => name === Service);
  const ids = (await project.containers()).filter(isService).map(({ ID }) => ID);
  return [...new Set((await sh(`docker inspect -f '{{.Image}}' ${ids.join(' ')}`)).split('\n'))];
};
const MAIN = 'services/users/src/service.ts';

await step('Upgrade', async (t) => {
  const [before] = await imagesOf();
  const main = join(project.upstream, MAIN);
  writeFileSync(main, `${readFileSync(main, 'utf8')}// Another version.\n`);
  project.commit();
  await underLoad(t, () => follow(t, 'Upgrade', 0, 1));
  await follow(t, 'Upgrade', 1);
  const after = await imagesOf();
  t.equal(after.length, 1);
  t.not(after[0], before, 'all services have the new image');
});

await step('an upgrade to a version that does not start goes back', async (t) => {
  const before = await imagesOf();
  writeFileSync(join(project.upstream, MAIN), 'process.exit(1);\n');
  project.commit();
  await underLoad(t, async () => {
    await sh('git pull --quiet && docker compose build');
    await t.rejects(sh('deploy/docker/upgrade.sh'), /All containers have the image of before again/);
  });
  t.same(await imagesOf(), before);
});

await step('Stop', async (t) => {
  followed.add('Stop');
  t.match(
    sections.get('Stop'),
    /^`docker compose down` stops everything and keeps the data. With `--volumes` it deletes/m,
  );
  const load = await startLoad(t, project);
  await sleep(1000);
  await load.stop();
  await sh('docker compose down');
  t.same(await project.containers(), []);
  await sh('docker compose up -d');
  await project.healthy();
  t.same(await load.lost(), [], 'what was stored is there after another start');
  await sh('docker compose down --volumes');
  t.equal(await sh('docker volume ls -q --filter name=$(basename "$PWD")'), '');
});

await step('no section with commands is left out', async (t) => {
  const all = [...sections].filter(([, text]) => blocksOf(text).length > 0).map(([heading]) => heading);
  t.same(
    all.filter((heading) => !followed.has(heading)),
    [],
  );
});
