import { rm } from 'node:fs/promises';
import { skip, startNatsWithPermissions } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { ALL, build } from './build.ts';

t.test(
  'jobs that NATS has lost with its store are published again by the sweep alone',
  { skip },
  async (t) => {
    const nats = await startNatsWithPermissions(t);
    const { call, issuer, notify, ended } = await build(
      t,
      { providers: { capture: { directory: t.testdir() } }, republishing: { everyMs: 500, overdueMs: 500 } },
      { natsUrl: nats.urlOf('notifications') },
    );
    const admin = await issuer.person('usr_admin', 'admin', ALL);
    const pause = (paused: boolean) => call('PUT', '/api/v1/queues/messages/email', admin, { paused });
    /** The jobs of the lane, in all priorities. */
    const queued = async () => {
      const { status, body } = await call('GET', '/api/v1/queues', admin);
      if (status !== 200) return undefined;
      const lanes = body as unknown as {
        lane: string;
        priorities: { waiting: number; in_flight: number }[];
      }[];
      const email = lanes.find(({ lane }) => lane === 'email');
      return email?.priorities.reduce((sum, priority) => sum + priority.waiting + priority.in_flight, 0);
    };
    await pause(true);
    const ids = await Promise.all(['high', 'normal', 'low', 'low'].map((priority) => notify({ priority })));
    await until(async () => (await queued()) === ids.length, 10_000);
    await nats.kill();
    await rm(nats.folder, { recursive: true });
    await nats.start();
    await pause(false);
    for (const id of ids) {
      t.match(await ended(id, ['sent'], 30_000), { attempts: [{ outcome: 'accepted' }] });
    }
  },
);
