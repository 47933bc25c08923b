import t from 'tap';
import { createLocalJobQueues } from '../src/local-job-queue.ts';
import { contract, logger } from './job-queue-contract.ts';

await contract(t, async (_, connection) => createLocalJobQueues({ connection, name: 'test', logger }));
