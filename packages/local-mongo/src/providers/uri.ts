import { connect, type NetConnectOpts } from 'node:net';
import { FatalProviderError } from '../provider.ts';

const CONNECT_LIMIT_MS = 3_000;
const DEFAULT_PORT = 27_017;

/** Scheme, credentials, hosts and the rest, as in the driver's parser. */
const CONNECTION_STRING = /^mongodb(\+srv)?:\/\/(?:[^@]*@)?([^/?@]+)(?:[/?][^@]*)?$/;

/**
 * Checks that a host of the connection string accepts connections. One is enough: the driver discovers the rest of a
 * replica set. The hosts of mongodb+srv, which only DNS knows, are not checked.
 * @throws FatalProviderError with the hosts, never the credentials
 */
export async function requireReachable(uri: string): Promise<void> {
  const match = CONNECTION_STRING.exec(uri);
  if (!match) {
    throw new FatalProviderError(
      'MONGODB_URI is not a mongodb:// or mongodb+srv:// address, or a special character in its password ' +
        'is not percent-encoded.',
    );
  }
  const [, isSrv, hosts = ''] = match;
  if (isSrv) return;
  try {
    await Promise.any(hosts.split(',').map(connectTo));
  } catch (error) {
    const causes: Error[] = error instanceof AggregateError ? error.errors : [error];
    const hostsAndCauses = causes.map((cause) => cause.message).join('; ');
    throw new FatalProviderError(
      `The MongoDB of MONGODB_URI cannot be reached: ${hostsAndCauses}. ` +
        'Start it, or unset MONGODB_URI to have one started.',
    );
  }
}

function connectTo(host: string): Promise<void> {
  const address = decodeURIComponent(host);
  return new Promise((resolve, reject) => {
    const socket = connect(connectOptions(address));
    const settle = (problem?: string) => {
      socket.destroy();
      if (problem === undefined) resolve();
      else reject(new Error(`${address} (${problem})`));
    };
    socket.setTimeout(CONNECT_LIMIT_MS, () => settle(`no answer within ${CONNECT_LIMIT_MS / 1000} s`));
    socket.once('error', (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
    socket.once('connect', () => settle());
  });
}

function connectOptions(address: string): NetConnectOpts {
  if (address.includes('/')) return { path: address };
  const { hostname, port } = new URL(`tcp://${address}`);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || DEFAULT_PORT };
}
