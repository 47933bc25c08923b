import type { IncomingMessage } from 'node:http';
import { type Transport, transportReader } from '@gatehouse/server/transport';
import t from 'tap';

type Request = {
  peer?: string;
  /** X-Forwarded-For and X-Forwarded-Proto. */
  from?: string;
  proto?: string;
  encrypted?: boolean;
};

const EDGE = '10.0.0.1';
const TRUSTED = ['10.0.0.0/8', '192.0.2.7', '2001:db8:ed9e::/48', '::1'];

function read(trusted: readonly string[], { peer, from, proto, encrypted }: Request): Transport {
  const headers = { 'x-forwarded-for': from, 'x-forwarded-proto': proto };
  // Addresses that no test machine has: of a request, only this is read.
  return transportReader(trusted)({
    headers,
    socket: { remoteAddress: peer, encrypted },
  } as never as IncomingMessage);
}

const CASES: [label: string, request: Request, address: string, secure: boolean][] = [
  ['a stranger', { peer: '203.0.113.9' }, '203.0.113.9', false],
  ['a stranger by TLS', { peer: '203.0.113.9', encrypted: true }, '203.0.113.9', true],
  ['a stranger who claims', { peer: '203.0.113.9', from: '1.1.1.1', proto: 'https' }, '203.0.113.9', false],
  ['a stranger who claims to be inside', { peer: '203.0.113.9', from: EDGE }, '203.0.113.9', false],
  ['the edge', { peer: EDGE, from: '203.0.113.9', proto: 'https' }, '203.0.113.9', true],
  ['the edge, plain', { peer: EDGE, from: '203.0.113.9', proto: 'http' }, '203.0.113.9', false],
  ['the edge, no proto', { peer: EDGE, from: '203.0.113.9' }, '203.0.113.9', false],
  ['a list of protos', { peer: EDGE, from: '203.0.113.9', proto: 'https, http' }, '203.0.113.9', false],
  ['two proxies', { peer: EDGE, from: '203.0.113.9, 10.9.9.9', proto: 'https' }, '203.0.113.9', true],
  ['no spaces', { peer: EDGE, from: '203.0.113.9,10.9.9.9,192.0.2.7', proto: 'https' }, '203.0.113.9', true],
  ['the left is a claim', { peer: EDGE, from: '1.1.1.1, 203.0.113.9', proto: 'https' }, '203.0.113.9', true],
  [
    'a claim to be inside',
    { peer: EDGE, from: '10.1.1.1, 203.0.113.9', proto: 'https' },
    '203.0.113.9',
    true,
  ],
  ['a trusted address is left', { peer: EDGE, from: '10.1.1.1', proto: 'https' }, '10.1.1.1', true],
  ['an internal call', { peer: EDGE }, EDGE, true],
  ['an internal call that forwards', { peer: EDGE, from: '10.1.1.1' }, '10.1.1.1', false],
  ['an empty list', { peer: EDGE, from: ' , ,' }, EDGE, true],
  ['a single address', { peer: '192.0.2.7', from: '203.0.113.9', proto: 'https' }, '203.0.113.9', true],
  ['beside a single address', { peer: '192.0.2.8', from: '203.0.113.9', proto: 'https' }, '192.0.2.8', false],
  ['beside a range', { peer: '11.0.0.1', from: '203.0.113.9', proto: 'https' }, '11.0.0.1', false],
  ['an IPv6 range', { peer: '2001:db8:ed9e::5', from: '2001:db8::9', proto: 'https' }, '2001:db8::9', true],
  ['beside an IPv6 range', { peer: '2001:db8:ed9f::5', from: '1.1.1.1' }, '2001:db8:ed9f::5', false],
  [
    'IPv4 on an IPv6 socket',
    { peer: '::ffff:10.0.0.1', from: '203.0.113.9', proto: 'https' },
    '203.0.113.9',
    true,
  ],
  ['a stranger on one', { peer: '::ffff:203.0.113.9', from: '1.1.1.1' }, '203.0.113.9', false],
  ['the same in the list', { peer: EDGE, from: '203.0.113.9, ::ffff:10.0.0.2' }, '203.0.113.9', false],
  ['what is no address', { peer: EDGE, from: 'unknown', proto: 'https' }, 'unknown', true],
  [
    'what is no address, in between',
    { peer: EDGE, from: '1.1.1.1, unknown', proto: 'https' },
    'unknown',
    true,
  ],
  ['a socket that is gone', {}, '', false],
];

t.test('who calls, and whether by HTTPS', async (t) => {
  for (const [label, request, address, secure] of CASES) {
    t.strictSame(read(TRUSTED, request), { address, secure }, label);
  }
});

t.test('without trusted proxies nobody is believed', async (t) => {
  for (const peer of ['127.0.0.1', '::1', EDGE]) {
    const claim = { peer, from: '203.0.113.9', proto: 'https' };
    t.strictSame(read([], claim), { address: peer, secure: false }, peer);
  }
});

t.test('a single IPv4 address may be given in its IPv6 form', async (t) => {
  const request = { peer: EDGE, from: '203.0.113.9', proto: 'https' };
  t.match(read(['::ffff:10.0.0.1'], request), { address: '203.0.113.9' });
});

const NO_ADDRESSES = [
  'localhost',
  '',
  '10.0.0',
  '10.0.0.256',
  '10.0.0.0/33',
  '10.0.0.0/-1',
  '10.0.0.0/8.5',
  '10.0.0.0/eight',
  // Number('') is 0, which would trust the whole world.
  '10.0.0.0/',
  '10.0.0.0/ ',
  '10.0.0.0/8/9',
  '::1/129',
  'fe80::g',
  '/8',
];

t.test('an entry that is neither an address nor a range is refused', async (t) => {
  for (const entry of NO_ADDRESSES) t.throws(() => transportReader([entry]), `"${entry}"`);
});
