import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { createNetworks } from '@gatehouse/server/networks';
import { buildConnector } from 'undici';
import { isPublicAddress } from './public-address.ts';

/** A host has an address at which it may not be reached from here; no connection was made. */
export class AddressRefusedError extends Error {
  override name = 'AddressRefusedError';
}

/**
 * Connects to addresses of the public internet, and of the networks (addresses and CIDR ranges). A name is looked up once
 * for each connection, which is made to the addresses that were judged, and to none if one of them is refused.
 *
 * @param options.timeout for the connection, in milliseconds
 * @param options.resolve looks up names; only tests have another than the system's
 */
export function connectPublic(options: {
  networks: readonly string[];
  timeout: number;
  resolve?: typeof lookup;
}): buildConnector.connector {
  const { networks, timeout, resolve = lookup } = options;
  const allowed = createNetworks(networks);
  const mayReach = (address: string) =>
    isPublicAddress(address) || (!address.includes('%') && allowed.include(address));

  const lookUp: LookupFunction = (hostname, how, done) => {
    resolve(hostname, { ...how, all: true }, (error, found) => {
      if (error !== null) return done(error, []);
      const [first] = found;
      if (first === undefined || !found.every(({ address }) => mayReach(address))) {
        return done(failure(hostname), []);
      }
      return how.all === true ? done(null, found) : done(null, first.address, first.family);
    });
  };
  const connect = buildConnector({ timeout, lookup: lookUp });
  return (target, done) => {
    // The same test by which net.connect() looks up nothing.
    const isRefused = isIP(target.hostname) !== 0 && !mayReach(target.hostname);
    if (isRefused) done(failure(target.hostname), null);
    else connect(target, done);
  };
}

function failure(host: string): AddressRefusedError {
  return new AddressRefusedError(`${host} is not on the public internet`);
}
