import t from 'tap';
import { isPublicAddress, isPublicHost } from '../src/public-address.ts';

t.test('addresses of the public internet, and others', async (t) => {
  for (const address of [
    ...['8.8.8.8', '1.1.1.1', '172.15.0.1', '172.32.0.1'],
    ...['2606:4700:4700::1111', '2a00:1450::1'],
  ])
    t.ok(isPublicAddress(address), address);
  for (const address of [
    ...['127.0.0.1', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
    ...[
      '169.254.169.254',
      '100.64.0.1',
      '0.0.0.0',
      '192.0.2.1',
      '198.18.0.1',
      '224.0.0.1',
      '255.255.255.255',
    ],
    ...['::', '::1', '::ffff:10.0.0.1', '::ffff:8.8.8.8', 'fe80::1', 'fc00::1', 'fd12::1'],
    // NAT64 (RFC 6052), 6to4 and Teredo lead to addresses within them.
    ...['64:ff9b::a00:1', '64:ff9b:1::a00:1', '2002:a00:1::', '2001::1', '2001:db8::1', 'ff02::1'],
    ...['fe80::1%eth0', '2a00:1450::1%eth0', 'localhost', ''],
  ])
    t.notOk(isPublicAddress(address), address);
});

t.test('hosts of URLs that may be public', async (t) => {
  const hostOf = (authority: string) => new URL(`https://${authority}`).hostname;
  for (const authority of ['a.example', 'push.a.example:8443', '8.8.8.8', '[2a00:1450::1]'])
    t.ok(isPublicHost(hostOf(authority)), authority);
  for (const authority of [
    ...['localhost', 'localhost.', 'a.localhost', 'a.localhost.', 'a.example.', 'intranet', 'intranet.'],
    ...['127.0.0.1', '127.0.0.1.', '127.1', '0x7f.1', '2130706433', '017700000001', '0', '10.0.0.1'],
    ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]', '[fe80::1]'],
  ])
    t.notOk(isPublicHost(hostOf(authority)), authority);
});
