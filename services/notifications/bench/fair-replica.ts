// A replica for `npm run bench:fair -- replicas`, which makes deliveries. Its arguments are the URI of the database, the URL of NATS or
// an empty text, the number of its slots, and the master key in base64.

import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { createJobQueues } from '@gatehouse/events/job-queue';
import { createNatsBroadcast } from '@gatehouse/events/nats-broadcast';
import { createBenchWebhooks } from './webhook-set-up.ts';

const [uri = '', natsUrl = '', slots = '', masterKey = ''] = process.argv.slice(2);
const logger = createLogger({ name: 'replica', level: 'error', readable: false });
const database = createDatabase({ uri, name: 'bench', logger });
const broadcast = natsUrl === '' ? undefined : createNatsBroadcast({ url: natsUrl, name: 'replica', logger });
const { module } = createBenchWebhooks({
  ...{ connection: database.connection, logger, slots: Number(slots) },
  queues: createJobQueues({ name: 'bench', broadcast, logger }),
  masterKey: Buffer.from(masterKey, 'base64'),
});
await database.start();
await broadcast?.start();
for (const part of module.parts.background ?? []) part.start();
process.stdout.write('started\n');
