// Runs alone, as it measures time.
import { createServer, request, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen } from '@gatehouse/testing/listen';
import { freePort, until } from '@gatehouse/testing/processes';
import t from 'tap';
import { type ForeignServer, prepareForeignServers, type StalePolicy } from './foreign-servers.ts';
import { startGatehouse, temporaryDir } from './gatehouse.ts';
import { prepareWays } from './revocation-ways.ts';

t.setTimeout(300_000);

/** After this without news, a verifier does what its policy says. */
const STALE_MS = 10_000;
const AWAY_MS = 60_000;
/** The longest pause before a verifier connects again, and the time in which Gatehouse accepts it. */
const RECONNECT_MS = 10_000;

/** The status of a token while the revocations are not known, and nobody can be asked. */
const AWAY: Record<StalePolicy, number> = { introspect: 503, refuse: 503, accept: 200 };
/** The status of a revoked token while the revocations are not known, and Gatehouse can be asked. */
const REVOKED_UNHEARD: Record<StalePolicy, number> = { introspect: 401, refuse: 503, accept: 200 };

/** In front of Gatehouse; it can cut the feed alone. */
async function startEdge(port: number) {
  const feeds = new Set<ServerResponse>();
  let isFeedCut = false;
  const edge = createServer((incoming, response) => {
    const { method, url: path = '', headers } = incoming;
    const isFeed = /\/revocations(?:\?|$)/.test(path);
    if (isFeed && isFeedCut) return void response.destroy();
    if (isFeed) feeds.add(response);
    const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (reply) => {
      // It may have been cut since the request.
      if (response.destroyed) return void reply.destroy();
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      pipeline(reply, response, () => feeds.delete(response));
    });
    sent.on('error', () => response.destroy());
    incoming.pipe(sent);
  });
  const url = `http://127.0.0.1:${await listen(t, edge)}`;
  return {
    url,
    cutFeed() {
      isFeedCut = true;
      for (const response of feeds) response.destroy();
    },
    restoreFeed() {
      isFeedCut = false;
    },
  };
}

t.test('APIs of others while Gatehouse is away, or its feed alone', async (t) => {
  const servers = await prepareForeignServers(t);
  const dataDir = temporaryDir(t);
  const port = await freePort();
  const edge = await startEdge(port);
  const env = { PORT: String(port), PUBLIC_URL: edge.url };
  const gatehouse = await startGatehouse(t, dataDir, env);
  const { api, ways } = await prepareWays({ identity: edge.url, users: edge.url }, gatehouse.demo.admin);
  const running = await servers.start(api, ['introspect', 'refuse', 'accept']);

  const make = async (way: 'token' | 'API key') => {
    const [made] = (await ways[way]?.(1)) ?? [];
    return { credential: String(made?.credentials[0]), revoke: async () => made?.revoke() };
  };
  const known = await make('token');
  const revoked = await make('token');
  const key = await make('API key');
  // No server has seen these before it is asked for them.
  const unknown = { fresh: await make('token'), stale: await make('token'), back: await make('token') };
  const everywhere = (
    what: string,
    { credential }: { credential: string },
    expected: (server: ForeignServer) => number,
  ) =>
    Promise.all(
      running.map(async (server) => {
        const { framework, stale, statusOf } = server;
        t.equal(await statusOf(credential), expected(server), `${what}: ${framework}, ${stale}`);
      }),
    );
  const becomes = ({ credential }: { credential: string }, status: number, limitMs: number) =>
    Promise.all(
      running.map(({ statusOf }) => until(async () => (await statusOf(credential)) === status, limitMs)),
    );

  for (const it of [known, revoked, key]) await becomes(it, 200, 5000);
  await revoked.revoke();
  await becomes(revoked, 401, 2000);

  await gatehouse.end('SIGKILL');
  const awayAt = performance.now();
  const at = (ms: number) => sleep(awayAt + ms - performance.now());
  await everywhere('known, soon after', known, () => 200);
  await everywhere('unknown, soon after', unknown.fresh, () => 200);
  await everywhere('revoked, soon after', revoked, () => 401);
  for (const [when, ms] of [
    ['past the limit', STALE_MS + 3000],
    ['after a minute', AWAY_MS],
  ] as const) {
    await at(ms);
    await everywhere(`known, ${when}`, known, ({ stale }) => AWAY[stale]);
    await everywhere(`unknown, ${when}`, unknown.stale, ({ stale }) => AWAY[stale]);
    await everywhere(`revoked, ${when}`, revoked, () => 401);
    await everywhere(`API key, ${when}`, key, () => 503);
  }

  await startGatehouse(t, dataDir, env);
  for (const it of [known, unknown.stale, unknown.back, key]) await becomes(it, 200, RECONNECT_MS);
  await everywhere('revoked, when it is back', revoked, () => 401);
  await known.revoke();
  await becomes(known, 401, 2000);

  edge.cutFeed();
  await sleep(STALE_MS + 3000);
  await everywhere('known, without the feed', unknown.fresh, ({ stale }) => (stale === 'refuse' ? 503 : 200));
  await unknown.back.revoke();
  await everywhere('revoked meanwhile', unknown.back, ({ stale }) => REVOKED_UNHEARD[stale]);
  edge.restoreFeed();
  await becomes(unknown.back, 401, RECONNECT_MS);
  await becomes(unknown.stale, 200, RECONNECT_MS);
});
