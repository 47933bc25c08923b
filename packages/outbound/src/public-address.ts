import { BlockList, isIP } from 'node:net';

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

/** Whether an IP address is one of the public internet. One with a zone (RFC 4007 §11) is not. */
export function isPublicAddress(address: string): boolean {
  const family = address.includes('%') ? 0 : isIP(address);
  if (family === 4) return !SPECIAL.check(address, 'ipv4');
  return family === 6 && GLOBAL_UNICAST.check(address, 'ipv6') && !SPECIAL.check(address, 'ipv6');
}

/**
 * Whether the hostname of a URL may be one of the public internet: a public address, or a name with a dot. What a name
 * leads to is known at the connection only. Names of this machine (RFC 6761 §6.3) and those that end with a dot, by which
 * one host would have two names, are not.
 */
export function isPublicHost(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  if (isIP(address) !== 0) return isPublicAddress(address);
  return /^[^.].*\..*[^.]$/.test(hostname) && !hostname.endsWith('.localhost');
}
