// `npm run bench:login`: what a login costs beside its argon2 hash: the medians of both, one after the other in turns.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hash, verify } from '@node-rs/argon2';
import { startGatehouse } from '../test/gatehouse.ts';

const ROUNDS = 200;
/** As users has it (services/users/src/passwords.ts). */
const ARGON2ID = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const cleanups: (() => unknown)[] = [];
try {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  cleanups.push(() => rmSync(dataDir, { recursive: true, force: true }));
  const gatehouse = await startGatehouse({ teardown: (action) => void cleanups.push(action) }, dataDir);
  const { username, password } = gatehouse.demo.user;
  const stored = await hash(password, ARGON2ID);
  const login = async () => {
    const response = await fetch(`${gatehouse.base}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username, password }),
    });
    if (response.status !== 200) throw new Error(`it answered ${response.status}`);
    await response.body?.cancel();
  };
  const times = { argon2: [] as number[], login: [] as number[] };
  for (let i = -20; i < ROUNDS; i += 1) {
    const begin = performance.now();
    await verify(stored, password);
    const middle = performance.now();
    await login();
    // The first rounds warm up.
    if (i < 0) continue;
    times.argon2.push(middle - begin);
    times.login.push(performance.now() - middle);
  }
  const p50 = (list: number[]) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0;
  const [bare, whole] = [p50(times.argon2), p50(times.login)];
  process.stdout.write(
    `argon2 ${bare.toFixed(1)} ms, login ${whole.toFixed(1)} ms: ${(whole / bare).toFixed(2)} of it\n`,
  );
} finally {
  for (const clean of cleanups.reverse()) await clean();
}
