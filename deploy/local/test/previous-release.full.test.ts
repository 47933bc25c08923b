import { setTimeout as sleep } from 'node:timers/promises';
import { skip } from '@gatehouse/testing/nats-server';
import { freePort, until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';
import { startBalancer } from './balancer.ts';
import { NAMES, type Name, type Node, startCluster } from './cluster.ts';
import { previousRelease } from './previous-release.ts';
import { prepareWorkload } from './workload.ts';

const BESIDE_MS = 5000;
const EARLIER_USERS = 3000;

function sourcesOrReason() {
  try {
    return previousRelease(t);
  } catch (error) {
    return (error as Error).message;
  }
}

const previous = skip || sourcesOrReason();

t.test(
  'the release before and this one serve together during an upgrade: no request fails, nothing is lost',
  { skip: typeof previous === 'string' && previous },
  async (t) => {
    if (typeof previous === 'string') return;
    const balancers = new Map<Name, Awaited<ReturnType<typeof startBalancer>>>();
    for (const name of NAMES) balancers.set(name, await startBalancer(t));
    const balancerOf = (name: Name) => balancers.get(name) as Awaited<ReturnType<typeof startBalancer>>;
    const origins = Object.fromEntries(NAMES.map((name) => [name, balancerOf(name).url])) as Record<
      Name,
      string
    >;
    const settings = {
      // Nothing listens: what is sent waits.
      NOTIFICATIONS_SMS_URL: `http://127.0.0.1:${await freePort()}`,
      NOTIFICATIONS_SMS_FROM: '+49301',
      DRAIN_SECONDS: '10',
      LOG_LEVEL: 'info',
    };
    const { identity, users, others, databases, startReplica } = await startCluster(
      t,
      settings,
      ['items', 'commerce', 'notifications'],
      {
        ...{ root: previous.root, origins },
        onStart: (name, base) => balancerOf(name).use(base),
      },
    );
    const old: Record<Name, Node> = { identity, users, ...others };
    t.comment(`the release before is ${previous.name}`);

    const database = await startTestDatabase(t, { uri: String(databases.get('users')) });
    const documents = database.connection.collection<{ _id: string }>('users');
    // As they were stored before there were searches.
    const earlier = Array.from({ length: EARLIER_USERS }, (_, i) => ({
      ...{
        _id: `usr_0${i}`,
        username: `earlier${i}`,
        username_key: `earlier${i}`,
        email: null,
        role: 'user',
      },
      ...{ email_key: `\0usr_0${i}`, status: 'active', password_hash: null, version: 1, outbox: [] },
      ...{ created_at: new Date(), updated_at: new Date() },
    }));
    await documents.insertMany(earlier);

    const failures: string[] = [];
    const workload = await prepareWorkload(origins, (failure) => failures.push(failure));
    workload.start();
    const next = {} as Record<Name, Node>;
    for (const name of NAMES) {
      next[name] = await startReplica(name);
      balancerOf(name).use(old[name].base, next[name].base);
    }
    await sleep(BESIDE_MS);

    for (const name of NAMES) {
      await leave(name, next[name].base);
      t.equal(await old[name].stop(), 0, old[name].process.output());
    }
    // Taken back for a while: the release before starts with a database that has been migrated.
    await old.users.restart();
    balancerOf('users').use(next.users.base, old.users.base);
    await sleep(BESIDE_MS / 2);
    await leave('users', next.users.base);
    await old.users.stop();
    await sleep(BESIDE_MS / 5);
    await workload.stop();

    t.comment(`${workload.requests()} requests, ${workload.acknowledged.length} acknowledged writes`);
    t.same(failures, [], 'no request has failed');
    t.ok(workload.acknowledged.length > 100, 'there was load');
    t.same(await workload.lost(), [], 'nothing that was acknowledged is lost');
    const migrated = { username_key: /^earlier/, search_texts: { $type: 'array' } };
    t.equal(await documents.countDocuments(migrated), EARLIER_USERS, 'the documents are migrated');
    t.match(next.users.process.output(), /"migration":"store the keys and search texts of users"/);

    /** Sends no more requests to any but this replica, and waits until the others have answered theirs. */
    async function leave(name: Name, base: string) {
      balancerOf(name).use(base);
      await until(() => balancerOf(name).inFlightOf(old[name].base) === 0, 10_000);
    }
  },
);
