// Runs alone, as it measures time.
import { jsonRequest } from '@gatehouse/testing/json-request';
import t from 'tap';
import { startGatehouse, statusOf, temporaryDir, tokenOf } from './gatehouse.ts';

t.setTimeout(120_000);

const percentile = (times: number[], share: number) =>
  times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;

t.test('a flood of logins starves neither the checking of tokens nor health', async (t) => {
  const gatehouse = await startGatehouse(t, temporaryDir(t));
  const { base, demo } = gatehouse;
  const { username, password } = demo.user;
  const token = await tokenOf(gatehouse);
  const statuses = new Map<number, number>();
  const loginTimes: number[] = [];
  let flooding = true;

  async function logIn(): Promise<void> {
    while (flooding) {
      const begin = performance.now();
      const response = await jsonRequest('POST', `${base}/api/v1/auth/login`, {
        body: { username, password },
      });
      loginTimes.push(performance.now() - begin);
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    }
  }

  /** Asks one after the other for so many seconds; the times, in milliseconds. */
  async function ask(url: string, seconds: number, bearer?: string): Promise<number[]> {
    const times: number[] = [];
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end) {
      const begin = performance.now();
      const status = await statusOf(url, bearer);
      if (status !== 200) throw new Error(`${url} answered ${status}`);
      times.push(performance.now() - begin);
    }
    return times;
  }

  const list = `${base}/v1/users?limit=1`;
  const quiet = await ask(list, 2, token);
  const flood = Array.from({ length: 60 }, logIn);
  const [checks, live, ready] = await Promise.all([
    ask(list, 8, token),
    ask(`${base}/health/live`, 8),
    ask(`${base}/health/ready`, 8),
  ]);
  flooding = false;
  await Promise.all(flood);

  const logins = statuses.get(200) ?? 0;
  t.comment(
    `${logins} logins; a token was checked in p50 ${percentile(checks, 0.5).toFixed(1)} ms, p99 ` +
      `${percentile(checks, 0.99).toFixed(1)} ms (quiet: ${percentile(quiet, 0.5).toFixed(1)} ms)`,
  );
  t.ok(logins > 50, `${logins} logins`);
  t.same([...statuses.keys()], [200], 'nobody was turned away');
  // Beside other work, everything takes longer; what waits behind logins takes about as long as they do.
  const limit = Math.max(500, percentile(loginTimes, 0.5) / 3);
  for (const [name, times] of Object.entries({ checks, live, ready })) {
    t.ok(times.length > 10, `${name}: ${times.length} responses`);
    const p99 = percentile(times, 0.99);
    t.ok(p99 < limit, `${name}: p99 ${p99.toFixed(1)} ms of at most ${limit.toFixed(1)} ms`);
  }
});
