import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { createLocalJobQueues } from '../src/local-job-queue.ts';
import { contract } from './job-queue-contract.ts';

await contract(t, async (_, connection) => createLocalJobQueues({ connection, name: 'test', logger }));
