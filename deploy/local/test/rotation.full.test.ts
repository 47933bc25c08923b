import { setTimeout as sleep } from 'node:timers/promises';
import { jsonRequest, loginToken } from '@gatehouse/testing/json-request';
import { skip } from '@gatehouse/testing/nats-server';
import { spawnNode, until } from '@gatehouse/testing/processes';
import { repetitions } from '@gatehouse/testing/repetitions';
import t from 'tap';
import { ADMIN, listStatus, MACHINE, startCluster, tokenFrom } from './cluster.ts';

t.setTimeout(120_000);

const ROTATE = new URL('../../../services/identity/src/keys/main.ts', import.meta.url).pathname;

type Made = { client_id: string; client_secret: string; data: { id: string }[] };

/** Clients that get a token and use it, again and again, until they are stopped. */
function startLoad(identity: string, users: string, client: () => Record<string, string>) {
  const failures: string[] = [];
  let requests = 0;
  let stopped = false;
  async function work(): Promise<void> {
    while (!stopped) {
      try {
        const status = await listStatus(users, await tokenFrom(identity, client()));
        if (status !== 200) failures.push(String(status));
      } catch (error) {
        failures.push(String(error));
      }
      requests += 2;
    }
  }
  const workers = Array.from({ length: 6 }, work);
  return {
    failures,
    async stop(): Promise<number> {
      stopped = true;
      await Promise.all(workers);
      return requests;
    },
  };
}

t.test('signing keys and a client secret are rotated under load', { skip }, async (t) => {
  const { identity, users, keyEnv } = await startCluster(t);
  const kids = async () => {
    const response = await fetch(`${identity.base}/.well-known/jwks.json`);
    return ((await response.json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
  };
  const kidOf = (token: string) =>
    (JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }).kid;
  async function rotate(...args: string[]): Promise<string> {
    const { child, ended, output } = spawnNode([ROTATE, ...args], keyEnv);
    await ended;
    t.equal(child.exitCode, 0, output());
    return output();
  }

  await t.test('the signing keys, again and again: no failed request', async (t) => {
    const load = startLoad(identity.base, users.base, () => MACHINE);
    for (let i = 0; i < repetitions(3); i += 1) {
      const before = kidOf(await tokenFrom(identity.base));
      t.match(await rotate(), /^ES256: key_.* signs from now on/);
      await until(async () => kidOf(await tokenFrom(identity.base)) !== before, 10_000);
      t.ok((await kids()).includes(before), 'the previous one is still published');
      await sleep(2000);
    }
    const requests = await load.stop();
    t.same(load.failures, [], `of ${requests} requests`);
    t.ok(requests > repetitions(300), `${requests} requests`);
  });

  await t.test('a compromised one: what it has signed is dead at once, the rest goes on', async (t) => {
    const old = await tokenFrom(identity.base);
    const before = await kids();
    t.equal(await listStatus(users.base, old), 200);
    await rotate('--compromised');
    await until(async () => (await listStatus(users.base, old)) === 401, 5000);
    // Tokens are dead before every process has heard that the keys are gone.
    await until(async () => !(await kids()).some((kid) => before.includes(kid)), 5000);
    t.equal(await listStatus(users.base, await tokenFrom(identity.base)), 200);
  });

  await t.test('a client secret: no failed request', async (t) => {
    const token = await loginToken(identity.base, ADMIN);
    const call = (method: string, path: string, body?: unknown) =>
      jsonRequest<Made>(method, identity.base + path, { token, body });
    const made = await call('POST', '/api/v1/applications', {
      name: 'Rotated',
      type: 'machine',
      trusted: true,
      scopes: ['read:users'],
    });
    t.equal(made.status, 201, JSON.stringify(made.body));
    const { client_id, client_secret: first } = made.body;
    const path = `/api/v1/applications/${client_id}/secrets`;
    const [only] = (await call('GET', path)).body.data;

    let secret = first;
    const load = startLoad(identity.base, users.base, () => ({ client_id, client_secret: secret }));
    await sleep(500);
    const added = await call('POST', path, {});
    t.equal(added.status, 201, JSON.stringify(added.body));
    secret = added.body.client_secret;
    // Those who had the old one before have their responses.
    await sleep(1000);
    t.equal((await call('DELETE', `${path}/${only?.id}`)).status, 204);
    await sleep(6000);
    const requests = await load.stop();
    t.same(load.failures, [], `of ${requests} requests`);
    const old = tokenFrom(identity.base, { client_id, client_secret: first });
    await t.rejects(old, /401/, 'the old one is over');
  });
});
