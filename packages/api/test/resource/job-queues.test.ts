import { createResourceService } from '@gatehouse/api/resource/create-resource-service';
import { defineCollection } from '@gatehouse/data/collection';
import { JOB_INDEXES, type JobDocument, newJob } from '@gatehouse/data/job-document';
import type { Job } from '@gatehouse/events/job';
import { skip, startJetStream } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { createTestIssuer } from '@gatehouse/testing/test-issuer';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t, { type Test } from 'tap';

/** A service runs the jobs that its documents are, with and without NATS. */
async function jobOfDocument(t: Test, natsUrl?: string): Promise<void> {
  const issuer = await createTestIssuer(t, 'parts');
  const jobs: Job[] = [];
  const service = createResourceService(
    { name: 'parts', prefixes: [], paths: [], document: { title: 'Parts', description: '' } },
    {
      publicUrl: issuer.issuer,
      identityUrl: issuer.issuer,
      clientSecret: issuer.client.secret,
      mongodbUri: await testDatabase(t),
      rateLimit: 'off',
      ...(natsUrl === undefined ? {} : { natsUrl }),
    },
    logger,
    natsUrl === undefined ? { broadcast: issuer.broadcast } : {},
    ({ connection, queues }) => {
      const things = defineCollection<JobDocument>(connection, 'things', Object.values(JOB_INDEXES));
      const queue = queues({
        ...{ name: 'assembly', lanes: ['all'] },
        kind: {
          ...{ collection: connection.collection('things'), noun: 'thing', mayEndProcess: true },
          changesOf: () => ({ set: {} }),
        },
      });
      const handler = (job: Job) => void jobs.push(job);
      return {
        routes() {},
        async prepare() {
          // As a process leaves it that is killed before it announces the job.
          const job = newJob({ lane: 'all', priority: 'high', owner: 'ann' });
          await things.insertOne({ _id: 'thing', job });
        },
        background: [queue.work({ lane: 'all', handler, slots: 1, timeoutMs: 1000 })],
      };
    },
  );
  t.teardown(() => service.stop());
  // It waits for revocations, which the worker does not.
  service.start().catch(() => {});
  await until(() => jobs.length === 1, 10_000);
  t.match(jobs, [{ id: 'thing', queue: 'assembly', priority: 'high', lane: 'all', owner: 'ann' }]);
}

t.test('without NATS', (t) => jobOfDocument(t));

t.test('with NATS', { skip }, async (t) => {
  await jobOfDocument(t, (await startJetStream(t)).url);
});
