// `npm run bench:revocation [-- TRIALS]`: from the 200 of /oauth2/revoke to the first 401 at users, in one process
// and across processes. Prints the percentiles of both.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { natsServer } from '@gatehouse/testing/nats-server';
import { listStatus, MACHINE, revokeAt, startCluster, tokenFrom } from '../test/cluster.ts';
import { startGatehouse } from '../test/gatehouse.ts';

const trials = Number(process.argv[2] ?? 1000);
const cleanups: (() => unknown)[] = [];
const scope = { teardown: (action: () => unknown) => void cleanups.push(action) };

/** One trial's time in milliseconds. */
async function trial(identity: string, users: string, client: Record<string, string>): Promise<number> {
  const token = await tokenFrom(identity, client);
  // It must be known there, and live.
  if ((await listStatus(users, token)) !== 200) throw new Error('the token does not work before');
  if ((await revokeAt(identity, token, client)) !== 200) throw new Error('it could not be revoked');
  const revoked = performance.now();
  while ((await listStatus(users, token)) !== 401) {
    if (performance.now() - revoked > 10_000) throw new Error('it still works after ten seconds');
  }
  return performance.now() - revoked;
}

async function measure(name: string, identity: string, users: string, client: Record<string, string>) {
  const times: number[] = [];
  for (let i = 0; i < trials; i += 1) times.push(await trial(identity, users, client));
  times.sort((a, b) => a - b);
  const at = (share: number) =>
    (times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0).toFixed(1);
  process.stdout.write(
    `${name}: ${trials} trials, p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms, most ${at(1)} ms\n`,
  );
}

try {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  cleanups.push(() => rmSync(dataDir, { recursive: true, force: true }));
  const one = await startGatehouse(scope, dataDir);
  const { client_id, client_secret } = one.demo.machine;
  await measure('in one process', one.base, one.base, { client_id, client_secret });
  await one.end();
  if (!natsServer) {
    process.stdout.write('across processes: not measured, as there is no nats-server on this machine\n');
  } else {
    const { identity, users } = await startCluster(scope);
    await measure('across processes', identity.base, users.base, MACHINE);
  }
} finally {
  for (const clean of cleanups.reverse()) await clean();
}
