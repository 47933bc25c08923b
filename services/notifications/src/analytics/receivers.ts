import { usageSubject } from '@gatehouse/server/usage/usage-batch';
import type { Received } from '../receivers.ts';
import type { Ingest } from './ingest.ts';

const USAGE = usageSubject('*');
const HOUR_MS = 3_600_000;

/** The events of other services that analytics receives; stored when they are handled. */
export const receivedBy = (ingest: Ingest): Received[] => [
  {
    subject: USAGE,
    // The counters rely on the order of each sender's batches.
    stream: { name: 'ANALYTICS', subject: USAGE, maxAgeMs: 6 * HOUR_MS, inOrder: true },
    durable: 'notifications',
    handle: ({ subject, data }) => ingest.takeUsage(subject.split('.').at(-1) ?? '', data),
  },
  {
    subject: 'commerce.order.*',
    stream: { name: 'COMMERCE', account: 'COMMERCE' },
    durable: 'notifications_analytics',
    handle: ingest.takeOrder,
  },
];
