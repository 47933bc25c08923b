import { setTimeout as sleep } from 'node:timers/promises';
import { jsonRequest } from '@gatehouse/testing/json-request';
import { MACHINE, type Name, tokenFrom } from './cluster.ts';

type Body = Record<string, unknown> & { id: string };

/** A write that was acknowledged, and what reading it must return. */
export type Acknowledged = { service: Name; path: string; fields: Record<string, unknown>; at: number };

const WORKERS = 4;
/** After a failed request. */
const PAUSE_MS = 50;

/**
 * People, items, orders and notifications that are created through the API by several clients at once, from start() to stop().
 *
 * @param onFailure gets a sentence for every request that fails
 * @param machine the client as which they are made
 * @param options.isHalf each client pauses for as long as its requests have taken
 */
export async function prepareWorkload(
  origins: Record<Name, string>,
  onFailure: (failure: string) => void,
  machine: Record<string, string> = MACHINE,
  { isHalf = false } = {},
) {
  const acknowledged: Acknowledged[] = [];
  let token = await tokenFrom(origins.identity, machine);
  let requests = 0;
  let isStopping = false;

  async function call(service: Name, method: string, path: string, body?: unknown): Promise<Body> {
    requests += 1;
    const headers = { 'x-forwarded-proto': 'https' };
    const response = await jsonRequest<Body>(method, origins[service] + path, { token, body, headers });
    if (response.status < 300) return response.body;
    throw new Error(`${service}: ${method} ${path}: ${response.status} ${JSON.stringify(response.body)}`);
  }

  async function create(service: Name, path: string, body: object, fields: Record<string, unknown>) {
    const { id } = await call(service, 'POST', path, body);
    acknowledged.push({ service, path: `${path}/${id}`, fields: { id, ...fields }, at: performance.now() });
    return id;
  }

  const product = { name: 'Tea', price: 2, currency: 'EUR', category: 'Tea', stock: 1_000_000 };
  const { id: productId } = await call('commerce', 'POST', '/v2/products', product);
  const { id: recipientId } = await call('users', 'POST', '/users', { name: 'Recipient' });

  async function round(name: string): Promise<void> {
    requests += 1;
    token = await tokenFrom(origins.identity, machine);
    const user_id = await create('users', '/users', { name }, { name });
    await create('items', '/api/v1/items', { name, value: { name } }, { name, value: { name } });
    const items = [{ product_id: productId, quantity: 3 }];
    await create('commerce', '/v2/orders', { user_id, currency: 'EUR', items }, { user_id, total_amount: 6 });
    const notification = { user_id: recipientId, type: 'sms', message: `Hello ${name}` };
    await create('notifications', '/v2/notifications', notification, { user_id: recipientId });
    const { path } = acknowledged.findLast((it) => it.service === 'users') as Acknowledged;
    await call('users', 'GET', path);
  }

  async function work(worker: number): Promise<void> {
    for (let i = 0; !isStopping; i += 1) {
      const begin = performance.now();
      try {
        await round(`${worker} ${i}`);
        if (isHalf) await sleep(performance.now() - begin);
      } catch (error) {
        onFailure((error as Error).message + ((error as Error).cause ?? ''));
        await sleep(PAUSE_MS);
      }
    }
  }
  let workers: Promise<void>[] = [];

  return {
    ...{ acknowledged, productId, recipientId, call },
    requests: () => requests,
    start(): void {
      workers = Array.from({ length: WORKERS }, (_, worker) => work(worker));
    },
    async stop(): Promise<void> {
      isStopping = true;
      await Promise.all(workers);
    },
    /** The acknowledged writes that cannot be read as they were written, as a sentence each. */
    async lost(of: readonly Acknowledged[] = acknowledged): Promise<string[]> {
      token = await tokenFrom(origins.identity, machine);
      const lost: string[] = [];
      for (const { service, path, fields } of of) {
        const stored = await call(service, 'GET', path).catch((error: Error) => error.message);
        const isSame =
          typeof stored === 'object' &&
          Object.entries(fields).every(
            ([key, value]) => JSON.stringify(stored[key]) === JSON.stringify(value),
          );
        if (!isSame) lost.push(`${path}: ${JSON.stringify(stored)}`);
      }
      return lost;
    },
  };
}
