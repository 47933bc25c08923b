import { SERVICE_NAMES } from '@gatehouse/core/services';
import { skip, startNats, startNatsWithPermissions } from '@gatehouse/testing/nats-server';
import { freePort, until } from '@gatehouse/testing/processes';
import { logger, recordingLogger } from '@gatehouse/testing/test-logger';
import { connect } from '@nats-io/transport-node';
import t, { type Test } from 'tap';
import { createNatsBroadcast } from '../src/nats-broadcast.ts';

const parallel = () => ({ buffered: true });

const SUBJECT = 'gatehouse.test';
const failure = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

function setUp(t: Test, url: string) {
  const { logger, lines, text } = recordingLogger();
  const broadcast = createNatsBroadcast({ url, name: 'test', logger });
  t.teardown(() => broadcast.stop());
  const got: unknown[] = [];
  let connections = 0;
  broadcast.subscribe(SUBJECT, (message) => got.push(message));
  broadcast.onReconnect(() => {
    connections += 1;
  });
  return { broadcast, got, lines, text, connections: () => connections };
}

t.test('with a server', { skip }, async (t) => {
  // They wait much, each for a server of its own.
  t.jobs = 4;

  t.test('every replica gets every message', parallel(), async (t) => {
    const { url } = await startNats(t);
    const replicas = [setUp(t, url), setUp(t, url), setUp(t, url)];
    for (const { broadcast } of replicas) await broadcast.start();
    await until(() => replicas.every(({ connections }) => connections() === 1), 5000);
    for (const [i, { broadcast }] of replicas.entries()) await broadcast.publish(SUBJECT, i);
    await until(() => replicas.every(({ got }) => got.length === 3), 5000);
    for (const { got } of replicas) t.same([...got].sort(), [0, 1, 2]);
  });

  t.test('a server that is away at the start, dies and comes back', parallel(), async (t) => {
    const server = await startNats(t);
    await server.kill();
    const { broadcast, got, lines, connections } = setUp(t, server.url);
    const begin = performance.now();
    await broadcast.start();
    t.ok(performance.now() - begin < 500, 'the start waits for nobody');
    await until(() => lines.length >= 1, 5000);
    t.match(lines[0], { level: 'warn', msg: /NATS cannot be reached/ });
    t.match(await failure(broadcast.publish(SUBJECT, 'lost')), { kind: 'unavailable' });
    t.equal(connections(), 0);

    for (let round = 1; round <= 3; round += 1) {
      await server.start();
      await until(() => connections() === round, 10_000);
      await broadcast.publish(SUBJECT, round);
      await until(() => got.length === round, 5000);
      await server.kill();
      await until(async () => (await failure(broadcast.publish(SUBJECT, 'lost'))) !== undefined, 5000);
    }
    t.strictSame(got, [1, 2, 3]);
    t.equal(connections(), 3);
  });

  t.test('messages published while the server dies are delivered or rejected', parallel(), async (t) => {
    const server = await startNats(t);
    const sender = setUp(t, server.url);
    const other = setUp(t, server.url);
    await Promise.all([sender.broadcast.start(), other.broadcast.start()]);
    await until(() => sender.connections() === 1 && other.connections() === 1, 5000);
    const results = Array.from({ length: 200 }, (_, i) =>
      sender.broadcast.publish(SUBJECT, i).then(
        () => 'sent',
        () => 'rejected',
      ),
    );
    await server.kill();
    const outcome = await Promise.all(results);
    t.equal(outcome.length, 200, 'and none waits for ever');
    await server.start();
    await until(() => sender.connections() === 2 && other.connections() === 2, 10_000);
    await sender.broadcast.publish(SUBJECT, 'after');
    await until(() => other.got.includes('after'), 5000);
  });

  t.test(
    'a server that hangs: publish rejects in time, and all goes on when it is back',
    { skip },
    async (t) => {
      const server = await startNats(t);
      const { broadcast, got, connections } = setUp(t, server.url);
      await broadcast.start();
      await until(() => connections() === 1, 5000);
      await server.hang();
      t.teardown(() => server.goOn());
      const begin = performance.now();
      t.match(await failure(broadcast.publish(SUBJECT, 'slow')), { kind: 'unavailable' });
      t.ok(performance.now() - begin < 4000);
      server.goOn();
      await until(() => got.includes('slow'), 5000);
      await broadcast.publish(SUBJECT, 'after');
      await until(() => got.includes('after'), 5000);
    },
  );

  t.test('stop ends while the server hangs, and while there is none', parallel(), async (t) => {
    const server = await startNats(t);
    const connected = setUp(t, server.url);
    await connected.broadcast.start();
    await until(() => connected.connections() === 1, 5000);
    await server.hang();
    t.teardown(() => server.goOn());
    const connecting = setUp(t, server.url);
    await connecting.broadcast.start();
    const nobody = setUp(t, `nats://127.0.0.1:${await freePort()}`);
    await nobody.broadcast.start();
    const begin = performance.now();
    await Promise.all([connected, connecting, nobody].map(({ broadcast }) => broadcast.stop()));
    t.ok(performance.now() - begin < 5000);
  });

  t.test(
    'messages that are not JSON are dropped with a warning that does not quote them',
    parallel(),
    async (t) => {
      const { url, port } = await startNats(t);
      const { broadcast, got, lines, text, connections } = setUp(t, url);
      await broadcast.start();
      await until(() => connections() === 1, 5000);
      const other = await connect({ servers: `127.0.0.1:${port}` });
      t.teardown(() => other.close());
      for (const payload of ['{"half":', '', 'a secret', Uint8Array.of(255, 254)])
        other.publish(SUBJECT, payload);
      other.publish(SUBJECT, '"good"');
      await until(() => got.length === 1, 5000);
      t.strictSame(got, ['good']);
      const warnings = lines.filter(({ level }) => level === 'warn');
      t.equal(warnings.length, 4);
      t.match(warnings[2], { subject: SUBJECT, bytes: 8, msg: /not JSON/ });
      t.notMatch(text(), /a secret/);
    },
  );

  t.test('credentials come from the URL and go into no log', parallel(), async (t) => {
    const secret = 'p@ss:w/rd';
    const { port, url, kill } = await startNats(t, '--user', 'gate', '--pass', secret);
    const good = setUp(t, `nats://gate:${encodeURIComponent(secret)}@127.0.0.1:${port}`);
    const bad = setUp(t, `nats://gate:wr0ngsecret@127.0.0.1:${port}`);
    const none = setUp(t, url);
    for (const { broadcast } of [good, bad, none]) await broadcast.start();
    await until(() => good.connections() === 1, 5000);
    await good.broadcast.publish(SUBJECT, 1);
    await until(() => bad.lines.length >= 1 && none.lines.length >= 1, 10_000);
    t.match(bad.lines.at(-1), { msg: /cannot be reached/ });
    await t.rejects(bad.broadcast.publish(SUBJECT, 1));
    await kill();
    await until(() => good.text().includes('cannot be reached'), 5000);
    for (const { broadcast } of [good, bad, none]) await broadcast.stop();
    const all = [good, bad, none].map((each) => each.text()).join();
    for (const text of [secret, encodeURIComponent(secret), 'wr0ngsecret', 'w/rd'])
      t.notOk(all.includes(text));
  });

  t.test('each service has a user with permissions of its own', parallel(), async (t) => {
    const { url, port, passwords, urlOf } = await startNatsWithPermissions(t);
    const revocations = 'gatehouse.revocations';
    // The dashboard is a client of the public API, and needs no NATS.
    const names = SERVICE_NAMES.filter((name) => name !== 'dashboard');
    const replicas = names.map((name) => ({
      name,
      heard: [] as unknown[],
      ...setUp(t, urlOf(name)),
    }));
    for (const { broadcast, heard } of replicas) {
      broadcast.subscribe(revocations, (message) => heard.push(message));
      await broadcast.start();
    }
    await until(() => replicas.every(({ connections }) => connections() === 1), 5000);
    for (const { name, broadcast } of replicas) await broadcast.publish(revocations, name);
    const [identity] = replicas;
    await identity?.broadcast.publish(revocations, 'the last');
    await until(() => replicas.every(({ heard }) => heard.includes('the last')), 5000);
    for (const { name, heard, lines } of replicas) {
      t.strictSame(heard, ['identity', 'the last'], `${name} hears identity alone`);
      const refused = lines.filter((line) => /Permissions Violation for Publish/i.test(JSON.stringify(line)));
      t.equal(refused.length, name === 'identity' ? 0 : 1, name);
    }

    for (const user of names) {
      const client = await connect({ servers: `127.0.0.1:${port}`, user, pass: passwords[user] ?? '' });
      for (const subject of ['>', 'gatehouse.>', 'gatehouse.other', 'other.>', '$SYS.>', '$JS.API.>']) {
        const refused = new Promise((resolve) =>
          client.subscribe(subject, { callback: (error) => resolve(error?.message) }),
        );
        t.match(await refused, /permissions violation/i, `${user} ${subject}`);
      }
      if (user !== 'identity') {
        const stream = user.toUpperCase();
        const config = {
          name: stream,
          subjects: [`${user}.>`],
          republish: { src: `${user}.thing.changed`, dest: revocations },
        };
        const made = await client.request(`$JS.API.STREAM.CREATE.${stream}`, JSON.stringify(config));
        t.match(made.json(), { config: { name: stream } }, made.string());
        t.match((await client.request(`${user}.thing.changed`, '"forged"')).json(), { stream, seq: 1 });
        // A service with queues makes a stream for each of them.
        const madeBesides = user === 'notifications' ? [] : ['$JS.API.STREAM.CREATE.OTHER'];
        for (const subject of [...madeBesides, `$JS.API.STREAM.DELETE.${stream}`, 'other.thing'])
          await t.rejects(client.request(subject, '', { timeout: 300 }), subject);
      }
      await client.close();
    }
    await identity?.broadcast.publish(revocations, 'after all');
    await until(() => replicas.every(({ heard }) => heard.includes('after all')), 5000);
    for (const { name, heard } of replicas) {
      const forged = heard.filter((message) => message === 'forged').length;
      t.equal(forged, name === 'identity' ? 0 : 1, `${name}: no stream reaches another service`);
    }
    for (const wrong of [
      url,
      `nats://identity:x@127.0.0.1:${port}`,
      urlOf('users').replace('users', 'identity'),
    ]) {
      const { text, broadcast, connections } = setUp(t, wrong);
      await broadcast.start();
      await until(() => text().includes('cannot be reached'), 5000);
      t.equal(connections(), 0);
    }
  });

  t.test('a token in the URL', parallel(), async (t) => {
    const { port } = await startNats(t, '--auth', 't0ken');
    const { broadcast, connections } = setUp(t, `nats://t0ken@127.0.0.1:${port}`);
    await broadcast.start();
    await until(() => connections() === 1, 5000);
  });
});

t.test('an invalid URL of NATS is refused without quoting it', async (t) => {
  for (const url of ['http://user:secret@host', 'secret', 'nats://', 'nats://user:secret@host:port']) {
    t.throws(() => createNatsBroadcast({ url, name: 'test', logger }), {
      message: 'The URL of NATS must be nats://host:port or tls://host:port.',
    });
  }
});
