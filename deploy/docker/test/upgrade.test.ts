import { spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import t, { type Test } from 'tap';

const root = resolve(import.meta.dirname, '../../..');
const services = readdirSync(join(root, 'services'));

const script = join(root, 'deploy/docker/upgrade.sh');

/** Runs upgrade.sh with a stand-in for docker, containers of the old image, and the new one under its name. */
function upgrade(t: Test, containers: readonly string[], unhealthy: readonly string[] = []) {
  const files = containers.map((service, i) => [`${service}-${i}`, `${service} old healthy\n`]);
  const STATE = t.testdir({
    tag: 'new',
    unhealthy: unhealthy.map((line) => `${line}\n`).join(''),
    containers: Object.fromEntries(files),
  });
  const PATH = `${join(import.meta.dirname, 'fixtures')}${delimiter}${process.env.PATH}`;
  const { status, stderr } = spawnSync(script, { env: { ...process.env, PATH, STATE } });
  const left = readdirSync(join(STATE, 'containers')).map((id) =>
    readFileSync(join(STATE, 'containers', id), 'utf8').replace(' healthy\n', ''),
  );
  return {
    status,
    lines: String(stderr).trim().split('\n'),
    tag: readFileSync(join(STATE, 'tag'), 'utf8').trim(),
    left: left.sort(),
  };
}

t.test(
  'each container is stopped when another one is healthy, one after another, identity first',
  async (t) => {
    const { status, lines, left } = upgrade(t, ['users', 'users', 'identity']);
    t.equal(status, 0);
    const replaced = (service: string) => [`start ${service} new`, `stop ${service} old`];
    t.strictSame(lines, [...replaced('identity'), ...replaced('users'), ...replaced('users')]);
    t.strictSame(left, ['identity new', 'users new', 'users new']);
  },
);

t.test('every service is replaced', async (t) => {
  const { left } = upgrade(t, services);
  t.strictSame(left, services.map((service) => `${service} new`).sort());
});

t.test('a new container that does not become healthy: the image of before is put back', async (t) => {
  const { status, lines, tag, left } = upgrade(t, ['identity', 'users', 'users'], ['users new']);
  t.equal(status, 1);
  t.strictSame(lines.slice(0, 9), [
    'start identity new',
    'stop identity old',
    'start users new',
    'log of users',
    'remove users new',
    'The new container of users did not become healthy. Its last messages are above.',
    'tag old',
    'start identity old',
    'stop identity new',
  ]);
  t.equal(lines.length, 10);
  t.match(lines[9], 'All containers have the image of before again');
  t.equal(tag, 'old');
  t.strictSame(left, ['identity old', 'users old', 'users old']);
});

t.test('when nothing can be put back, what runs goes on', async (t) => {
  const same = upgrade(t, ['identity'], ['identity new', 'identity old']);
  t.equal(same.status, 1);
  t.strictSame(same.left, ['identity old']);
  const partly = upgrade(t, ['identity', 'users'], ['identity old', 'users new']);
  t.equal(partly.status, 1);
  t.match(partly.lines.at(-1), 'identity does not become healthy with the image of before, either.');
  t.strictSame(partly.left, ['identity new', 'users old']);
});

t.test('without Docker Compose 2 it says so', async (t) => {
  const folder = t.testdir({ docker: '#!/bin/sh\nexit 1\n' });
  chmodSync(join(folder, 'docker'), 0o755);
  const PATH = `${folder}${delimiter}${process.env.PATH}`;
  const { status, stderr } = spawnSync(script, { env: { ...process.env, PATH } });
  t.equal(status, 1);
  t.equal(String(stderr), 'Docker Compose 2 is needed: "docker compose" does not work.\n');
});
