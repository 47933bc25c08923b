import { createResourceService } from '@gatehouse/api/resource/create-resource-service';
import { defineCollection } from '@gatehouse/data/collection';
import { type JobDocument, OPEN_JOBS_INDEX } from '@gatehouse/data/open-jobs';
import { outboxEvent } from '@gatehouse/data/outbox';
import type { Job } from '@gatehouse/events/job';
import { createJobPublisher } from '@gatehouse/events/job-publisher';
import { createJobStateStore, JOB_ATTEMPTS } from '@gatehouse/events/job-state-store';
import { skip, startJetStream } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { createTestIssuer } from '@gatehouse/testing/test-issuer';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t, { type Test } from 'tap';

/** A service whose documents cause jobs runs them, by whichever way its queue is kept. */
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
      const queue = queues({ name: 'assembly', lanes: ['all'], jobStates: createJobStateStore(connection) });
      const things = defineCollection<JobDocument>(connection, 'things', [OPEN_JOBS_INDEX]);
      const publisher = createJobPublisher({
        ...{ queue, collection: connection.collection('things'), projection: {}, logger },
        eventOf: ({ _id: id }) => outboxEvent(queue.subject('high', 'all'), { id }, `job-${id}`),
      });
      const handler = (job: Job) => void jobs.push(job);
      return {
        routes() {},
        async prepare() {
          // As a process leaves it that is killed before it publishes the job.
          await things.insertOne({ _id: 'thing', created_at: new Date(), check_at: new Date() });
        },
        background: [queue.work({ lane: 'all', handler, slots: 1, timeoutMs: 1000 }), publisher],
        expiring: [JOB_ATTEMPTS],
      };
    },
  );
  t.teardown(() => service.stop());
  // It waits for revocations, which the worker does not.
  service.start().catch(() => {});
  await until(() => jobs.length === 1, 10_000);
  t.match(jobs, [{ queue: 'assembly', priority: 'high', lane: 'all', data: { id: 'thing' } }]);
}

t.test('in the database of the service', (t) => jobOfDocument(t));

t.test('in NATS', { skip }, async (t) => {
  await jobOfDocument(t, (await startJetStream(t)).url);
});
