// `npm run bench:traces [-- ROUNDS]`: what a read of the users service costs with traces switched off, with 5 % of them
// recorded, and with all. The collector takes everything and keeps nothing.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AuthorizedCall, benchBeside } from '@gatehouse/testing/bench-beside';

const rounds = Number(process.argv[2] ?? 40);
const USERS = 100;

const collector = createServer((request, response) => {
  request.resume().on('end', () => response.end('{}'));
}).listen(0, '127.0.0.1');
await once(collector, 'listening');
const { port } = collector.address() as AddressInfo;
const recorded = (share: string) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
  OTEL_TRACES_SAMPLER: 'traceidratio',
  OTEL_TRACES_SAMPLER_ARG: share,
});

const bench = {
  name: 'users',
  main: new URL('../src/service.ts', import.meta.url).pathname,
  bare: new URL('./bare-server.ts', import.meta.url).pathname,
  rounds,
  scope: 'read:users write:users',
  title: 'traces',
  variants: { '5 %': recorded('0.05'), '100 %': recorded('1') },
  async fill() {},
};

await benchBeside(bench, async ({ service, variants, ask, compare }) => {
  const ids: string[] = [];
  for (let i = 0; i < USERS; i += 1) {
    const created = await ask(service, {
      ...{ method: 'POST', path: '/users', body: `{"name":"Ann Lee ${i}"}`, status: 201 },
    });
    ids.push(JSON.parse(created).id);
  }
  const next = (): AuthorizedCall => ({
    ...{ method: 'GET', path: `/v1/users/${ids[Math.floor(Math.random() * USERS)]}`, status: 200 },
  });
  const loads = Object.entries({ off: service, ...variants }).map(([name, server]) => [
    name,
    { server, next },
  ]);
  await compare(Object.fromEntries(loads));
});
collector.close();
