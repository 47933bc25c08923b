import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { jsonRequest } from '@gatehouse/testing/json-request';
import { listen } from '@gatehouse/testing/listen';
import { skip } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { atScale } from '@gatehouse/testing/repetitions';
import t from 'tap';
import { startCluster, tokenFrom } from './cluster.ts';

const CONCURRENCY = 8;
t.setTimeout(600_000);

t.test(
  'kill -9 of commerce, notifications and NATS: no event of an acknowledged write is lost',
  { skip },
  async (t) => {
    const arrived = new Map<string, number>();
    const receiver = createServer(async (request, response) => {
      const { data } = (await json(request)) as { data: { product_id: string } };
      arrived.set(data.product_id, (arrived.get(data.product_id) ?? 0) + 1);
      response.writeHead(204).end();
    });
    const url = `http://127.0.0.1:${await listen(t, receiver)}/`;
    const cluster = await startCluster(t, { NOTIFICATIONS_WEBHOOK_NETWORKS: '127.0.0.0/8' }, [
      'commerce',
      'notifications',
    ]);
    const { commerce, notifications } = cluster.others;
    const token = await tokenFrom(cluster.identity.base);
    const webhooks = `${notifications.base}/api/v1/webhooks`;
    const created = await jsonRequest('POST', webhooks, {
      token,
      body: { url, events: ['product.created'] },
    });
    t.equal(created.status, 201, JSON.stringify(created.body));

    const acknowledged: string[] = [];
    const kills: string[] = [];
    const ending = new AbortController();
    const victims = [
      ['commerce', commerce.kill, commerce.restart],
      ['notifications', notifications.kill, notifications.restart],
      ['NATS', cluster.nats.kill, cluster.nats.start],
    ] as const;
    async function killing(): Promise<void> {
      for (let i = 0; !ending.signal.aborted; i += 1) {
        await sleep(500 + Math.random() * 1500, undefined, { signal: ending.signal }).catch(() => {});
        if (ending.signal.aborted) return;
        const [name, kill, start] = victims[i % victims.length] ?? victims[0];
        await kill();
        await sleep(Math.random() * 300);
        await start();
        kills.push(name);
      }
    }
    const killer = killing();
    const count = Math.max(victims.length, atScale(90));
    let next = 0;
    async function create(): Promise<void> {
      while (kills.length < count) {
        next += 1;
        const product = { name: `Product ${next}`, price: 1, currency: 'EUR', stock: 1 };
        const { status, body } = await jsonRequest<{ id: string }>('POST', `${commerce.base}/v2/products`, {
          token,
          body: product,
        }).catch(() => ({ status: 0, body: { id: '' } }));
        if (status === 201) acknowledged.push(body.id);
        else await sleep(100);
        await sleep(20);
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, create));
    ending.abort();
    await killer;
    const missing = () => acknowledged.filter((id) => !arrived.has(id));
    await until(() => missing().length === 0, 180_000).catch(() => {});
    t.same(missing(), [], 'each has arrived');
    const again = [...arrived.values()].filter((times) => times > 1).length;
    t.comment(
      `${acknowledged.length} acknowledged, ${kills.join(', ')} killed, ${again} delivered more than once`,
    );
    t.ok(kills.length >= victims.length, 'each was killed');
    t.ok(acknowledged.length > 100, `${acknowledged.length} writes were acknowledged`);
  },
);
