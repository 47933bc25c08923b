// `npm run bench:verify [-- ROUNDS]`: the CPU that a request costs to verify, with a token that is remembered and with new ones, and a route
// with the verifier beside one without it, at 16 connections.
import { createLoadComparison } from '@gatehouse/testing/compare-loads';
import { spawnNode, until } from '@gatehouse/testing/processes';
import { localVerifier, tokenOfNow } from '../test/local.ts';

const rounds = Number(process.argv[2] ?? 15);
const WARM = 20_000;
const COLD = 500;

const verifier = localVerifier();
const requestOf = (token: string) => {
  const authorization = `Bearer ${token}`;
  const rawHeaders = ['Host', 'api.example.com', 'Accept', '*/*', 'Authorization', authorization];
  return { method: 'GET', url: '/notes', headers: { host: 'api.example.com', authorization }, rawHeaders };
};

/** Microseconds of CPU for each verification, the median of the rounds. */
async function cpuOf(tokensOf: (round: number) => string[]): Promise<string> {
  const costs: number[] = [];
  for (let round = -3; round < rounds; round += 1) {
    const requests = tokensOf(round).map(requestOf);
    const before = process.cpuUsage();
    for (const request of requests) await verifier.verify(request, { scopes: ['notes:read'] });
    const { user, system } = process.cpuUsage(before);
    if (round >= 0) costs.push((user + system) / requests.length);
  }
  return `${costs.toSorted((a, b) => a - b)[Math.floor(costs.length / 2)]?.toFixed(1)} µs`;
}

const known = await tokenOfNow();
const warm = await cpuOf(() => new Array(WARM).fill(known));
const all = await Promise.all(
  Array.from({ length: COLD * (rounds + 3) }, (_, i) => tokenOfNow({ jti: `jti_${i}` })),
);
const cold = await cpuOf((round) => all.slice((round + 3) * COLD, (round + 4) * COLD));
process.stdout.write(`CPU of a verification: ${warm} of a known token, ${cold} of a new one\n`);

const { child, output } = spawnNode(new URL('./server.ts', import.meta.url).pathname, {});
await until(() => output().endsWith('\n'), 10_000);
const server = { pid: Number(child.pid), port: Number(output()) };
const { compare, printTitle, close } = createLoadComparison({ rounds, concurrency: 16 });
const headers = { authorization: `Bearer ${known}` };
const get = (path: string) => ({
  server,
  next: () => ({ method: 'GET' as const, path, headers, status: 200 }),
});
printTitle('16 connections');
await compare({ 'without the verifier': get('/open'), 'with the verifier': get('/protected') });
close();
child.kill();
