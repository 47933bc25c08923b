import { isIP } from 'node:net';
import { createNetworks } from '@gatehouse/server/networks';

/** Special-purpose addresses (RFC 6890 and the IANA registries), in which nothing public is. */
const SPECIAL = createNetworks([
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
  // Within 2000::/3, outside of which no IPv6 address is public.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '2620:4f:8000::/48',
  '3fff::/20',
]);
const GLOBAL_UNICAST = createNetworks(['2000::/3']);

/** Whether an IP address is one of the public internet. One with a zone (RFC 4007 §11) is not. */
export function isPublicAddress(address: string): boolean {
  if (address.includes('%') || isIP(address) === 0 || SPECIAL.include(address)) return false;
  return isIP(address) === 4 || GLOBAL_UNICAST.include(address);
}

/**
 * Whether the hostname of a URL may be one of the public internet: a public address, or a name with a dot. The address that a name
 * leads to is known at the connection only. Names of this machine (RFC 6761 §6.3) and those that end with a dot, by which
 * one host would have two names, are not.
 */
export function isPublicHost(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  if (isIP(address) !== 0) return isPublicAddress(address);
  return /^[^.].*\..*[^.]$/.test(hostname) && !hostname.endsWith('.localhost');
}
