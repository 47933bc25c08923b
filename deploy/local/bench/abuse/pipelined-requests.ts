// 40 connections that each ask 140 times for an item of 60 KB without waiting for a response, and read none (RFC 9112 §9.3.2).
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Abuse, Target } from '../abuse.ts';

const VALUE_BYTES = 60_000;
const CONNECTIONS = 40;
const REQUESTS = 140;
const PAUSE_MS = 250;
const HELD_MS = 5000;

export async function prepare({ base, port, token }: Target): Promise<Abuse> {
  const authorization = `Bearer ${token}`;
  const headers = { authorization, 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'large', value: 'x'.repeat(VALUE_BYTES) });
  const created = await fetch(`${base}/api/v1/items`, { method: 'POST', headers, body });
  if (created.status !== 201) throw new Error(`the item was answered with ${created.status}`);
  const { id } = (await created.json()) as { id: string };
  const request = `GET /api/v1/items/${id} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n\r\n`;
  return {
    // How long others wait is a matter of the rate limit, which is off here.
    limitsOthers: false,
    async attack() {
      const sockets = Array.from({ length: CONNECTIONS }, () => connect(port, '127.0.0.1').pause());
      for (const socket of sockets) {
        socket.on('error', () => {}).write(request.repeat(REQUESTS));
        await sleep(PAUSE_MS);
      }
      await sleep(HELD_MS);
      for (const socket of sockets) socket.destroy();
    },
  };
}
