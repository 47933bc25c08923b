import type { LookupAddress, lookup } from 'node:dns';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import type { buildConnector } from 'undici';
import { connectPublic } from '../src/connect.ts';
import { createOutbound } from '../src/outbound.ts';

/** A server on every address of this machine, which says how many connections it has had. */
async function listen(t: Test) {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => {}).end('HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n');
  }).listen(0, '0.0.0.0');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

t.test('an address that is refused gets no connection, in whatever way it is written', async (t) => {
  const { port, connections } = await listen(t);
  const outbound = createOutbound({ to: 'public' });
  for (const host of [
    ...['127.0.0.1', '127.0.0.1.', '127.1', '0x7f000001', '2130706433', '0.0.0.0', '0', '127.9.9.9'],
    ...['localhost', 'LOCALHOST', '[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:0.0.0.0]'],
    ...['[64:ff9b::7f00:1]', '[fe80::1]', '10.0.0.1', '169.254.169.254'],
  ]) {
    for (const scheme of ['http', 'https']) {
      const responded = outbound.fetch(`${scheme}://${host}:${port}/`);
      await t.rejects(responded, { name: 'AddressRefusedError' }, `${scheme} ${host}`);
    }
  }
  // Some systems know this name, and others do not.
  await t.rejects(outbound.fetch(`http://localhost.:${port}/`), /ENOTFOUND|is not on the public internet/);
  t.equal(connections(), 0);
});

t.test('networks that are allowed', async (t) => {
  const { port, connections } = await listen(t);
  const outbound = createOutbound({ to: 'public', networks: ['10.0.0.0/8', '127.0.0.0/30'] });
  for (const host of ['127.0.0.1', '127.0.0.2', 'localhost', '[::ffff:127.0.0.1]']) {
    t.equal((await outbound.fetch(`http://${host}:${port}/`)).status, 204, host);
  }
  t.equal(connections(), 4, 'one for each request');
  await t.rejects(outbound.fetch(`http://127.0.0.4:${port}/`), { name: 'AddressRefusedError' });
  t.equal((await createOutbound({ to: 'configured' }).fetch(`http://localhost:${port}/`)).status, 204);
});

t.test('all addresses of a name are checked, and the connection goes to one of them', async (t) => {
  const { port, connections } = await listen(t);
  const responses: string[][] = [];
  let lookups = 0;
  const resolve = ((_name: string, _how: object, done: (error: null, found: LookupAddress[]) => void) => {
    lookups += 1;
    const found = responses.shift() ?? ['127.0.0.9'];
    done(
      null,
      found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  }) as typeof lookup;
  const connector = connectPublic({ networks: ['127.0.0.1', 'fd00::/8'], timeout: 5000, resolve });
  const target = { hostname: 'a.example', protocol: 'http:', port: String(port) } as buildConnector.Options;
  const connect = (addresses: string[]) => {
    responses.push(addresses);
    return new Promise<Socket | null>((done, fail) => {
      connector(target, (error, socket) => (error ? fail(error) : done(socket)));
    });
  };
  for (const mix of [
    ['127.0.0.1', '10.0.0.1'],
    ['8.8.8.8', '127.0.0.2'],
    ['127.0.0.1', '::1'],
    ['127.0.0.1', 'fe80::1%lo'],
    ['fd00::1%lo'],
    [],
  ])
    await t.rejects(connect(mix), { name: 'AddressRefusedError' }, mix.join());
  t.equal(connections(), 0);
  const socket = await connect(['127.0.0.1']);
  t.equal(socket?.remoteAddress, '127.0.0.1');
  t.equal(lookups, 7, 'once for each connection');
  socket?.destroy();
});
