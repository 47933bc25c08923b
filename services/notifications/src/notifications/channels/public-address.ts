import { type LookupAddress, lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Special-purpose addresses (RFC 6890 and the IANA registries), in which nothing public is. */
const SPECIAL = new BlockList();
const RANGES_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];
/** Within 2000::/3, outside of which no address is public. */
const RANGES_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'];
for (const range of [...RANGES_V4, ...RANGES_V6]) {
  const [network = '', bits = ''] = range.split('/');
  SPECIAL.addSubnet(network, Number(bits), isIP(network) === 6 ? 'ipv6' : 'ipv4');
}
const GLOBAL_UNICAST = new BlockList();
GLOBAL_UNICAST.addSubnet('2000::', 3, 'ipv6');

/** Whether an IP address is one of the public internet. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !SPECIAL.check(address, 'ipv4');
  return family === 6 && GLOBAL_UNICAST.check(address, 'ipv6') && !SPECIAL.check(address, 'ipv6');
}

/** Whether a hostname of a URL is an IP address that is not public. Names are for lookupPublic, which gets no addresses. */
export function isPrivateLiteral(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  return isIP(address) !== 0 && !isPublicAddress(address);
}

/** The code of the error of lookupPublic. */
export const NOT_PUBLIC = 'ERR_NOT_PUBLIC';
export const NOT_PUBLIC_MESSAGE = 'The push service is not on the public internet.';

/** As dns.lookup, for the `lookup` of a connection: fails for a name that leads to an address that is not public. */
export const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
    if (error !== null) return callback(error, '');
    const [first] = found;
    if (first === undefined || !found.every(({ address }) => isPublicAddress(address))) {
      const refused = new Error(NOT_PUBLIC_MESSAGE);
      return callback(Object.assign(refused, { code: NOT_PUBLIC }), '');
    }
    if (options.all === true) return callback(null, found);
    return callback(null, first.address, first.family);
  });
};
