// An SMS gateway that accepts each message with a response that does not end.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { until } from '@gatehouse/testing/processes';
import { databaseUri } from '../../src/database-uri.ts';
import type { Abuse, Target } from '../abuse.ts';

const MESSAGES = 50;
const CHUNK = Buffer.alloc(65_536, ' ');

const gateway = createServer((request, response) => {
  request.resume();
  response.writeHead(201, { 'content-type': 'application/json' });
  const write = () => {
    while (!response.destroyed && response.write(CHUNK));
  };
  response.on('drain', write);
  write();
}).listen(0, '127.0.0.1');
await once(gateway, 'listening');
gateway.unref();
const { port } = gateway.address() as AddressInfo;

export const settings = {
  NOTIFICATIONS_SMS_URL: `http://AC1:t0ken@127.0.0.1:${port}/Messages.json`,
  NOTIFICATIONS_SMS_FROM: '+15005550006',
};

export async function prepare({ base, token, mongoUri }: Target): Promise<Abuse> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(base + path, { method, headers, body: JSON.stringify(body) });
    return (await response.json()) as { id: string; status: string; data: { id: string }[] };
  };
  const [user] = (await ask('GET', '/v2/users?limit=1')).data;
  const logger = createLogger({ name: 'bench', level: 'warn', readable: true });
  const database = createDatabase({ uri: databaseUri(mongoUri, 'users'), name: 'users', logger });
  await database.start();
  const users = database.connection.collection<{ _id: string }>('users');
  await users.updateOne({ _id: user?.id ?? '' }, { $set: { phone: '+49301234567' } });
  await database.stop();
  const message = { user_id: user?.id, type: 'sms', message: 'Your order has been shipped.' };
  return {
    async attack() {
      for (let i = 0; i < MESSAGES; i += 1) {
        const { id } = await ask('POST', '/v2/notifications', message);
        await until(async () => (await ask('GET', `/v2/notifications/${id}`)).status === 'sent', 30_000);
      }
    },
  };
}
