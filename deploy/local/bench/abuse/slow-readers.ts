// 200 connections that ask for a page of 100 items of 65 KB, and do not read it.
import { once } from 'node:events';
import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Abuse, Target } from '../abuse.ts';

const ITEMS = 100;
const VALUE_BYTES = 65_000;
const READERS = 200;
const PROMPT_READERS = 50;
const PAUSE_MS = 100;
const HELD_MS = 5000;

export async function prepare({ base, token }: Target): Promise<Abuse> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const value = 'x'.repeat(VALUE_BYTES);
  for (let i = 0; i < ITEMS; i += 1) {
    const body = JSON.stringify({ name: `Item ${i}`, value });
    const { status } = await fetch(`${base}/api/v1/items`, { method: 'POST', headers, body });
    if (status !== 201) throw new Error(`an item was answered with ${status}`);
  }
  const path = `${base}/api/v1/items?limit=${ITEMS}`;
  return {
    // One page after the other, here and below: others wait while 6.5 MB are serialized, whoever reads them.
    async fairUse() {
      for (let i = 0; i < PROMPT_READERS; i += 1) {
        await (await fetch(path, { headers })).arrayBuffer();
        await sleep(PAUSE_MS);
      }
    },
    async attack() {
      const requests: ClientRequest[] = [];
      for (let i = 0; i < READERS; i += 1) {
        const request = get(path, { agent: false, headers });
        request.on('error', () => {});
        requests.push(request);
        const [response] = (await once(request, 'response')) as [IncomingMessage];
        response.on('error', () => {});
        await sleep(PAUSE_MS);
      }
      await sleep(HELD_MS);
      for (const request of requests) request.destroy();
    },
  };
}
