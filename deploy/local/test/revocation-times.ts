import { until } from '@gatehouse/testing/processes';
import type { Test } from 'tap';
import type { ForeignServer } from './foreign-servers.ts';
import type { Revocable } from './revocation-ways.ts';

/** The tokens that are revoked at about the same time. More of them would keep the servers busy with the requests of the test. */
const BATCH = 10;
const LIMIT_MS = 20_000;

/**
 * Lets so many credentials of each way be accepted by all servers, and revokes them. Measures for each, at each server, the time
 * from the response of Gatehouse to the end of the first 401.
 */
export async function testTimes(
  t: Test,
  servers: readonly ForeignServer[],
  ways: Record<string, (count: number) => Promise<Revocable[]>>,
  count: number,
): Promise<void> {
  for (const [way, make] of Object.entries(ways)) {
    const took = new Map<string, number[]>(servers.map(({ framework }) => [framework, []]));
    const begin = performance.now();
    for (let left = count; left > 0; left -= BATCH) {
      await revokeBatch(servers, await make(Math.min(BATCH, left)), took);
    }
    t.comment(`${way}: ${count} revoked in ${Math.round((performance.now() - begin) / 1000)} s`);
    for (const [framework, all] of took) {
      const [p50, p99, max] = percentiles(all, [0.5, 0.99, 1]);
      const figures = `p50 ${p50} ms, p99 ${p99} ms, max ${max} ms`;
      t.ok(Number(p99) < 1000 && Number(max) < 2000, `${way}, ${framework}: ${figures}`);
      t.comment(`${way}, ${framework}: ${figures}`);
    }
  }
}

async function revokeBatch(
  servers: readonly ForeignServer[],
  batch: readonly Revocable[],
  took: ReadonlyMap<string, number[]>,
): Promise<void> {
  const everywhere = (credentials: readonly string[], status: number, then?: (framework: string) => void) =>
    Promise.all(
      servers.flatMap(({ framework, statusOf }) =>
        credentials.map(async (credential) => {
          await until(async () => (await statusOf(credential)) === status, LIMIT_MS);
          then?.(framework);
        }),
      ),
    );
  await Promise.all(batch.map(({ credentials }) => everywhere(credentials, 200)));
  for (const { credentials, revoke } of batch) {
    await revoke();
    const begin = performance.now();
    await everywhere(credentials, 401, (framework) => took.get(framework)?.push(performance.now() - begin));
  }
}

/** The percentiles of times in any order, rounded. */
function percentiles(all: readonly number[], parts: readonly number[]): number[] {
  const sorted = all.toSorted((a, b) => a - b);
  return parts.map((part) => Math.round(sorted[Math.ceil(sorted.length * part) - 1] ?? 0));
}
