import type { Logger } from '@gatehouse/core/logger';

/** The environment in which a provider runs a database. */
export type ProviderContext = {
  /** The directory for this provider's database files. */
  dataDirectory: string;
  env: NodeJS.ProcessEnv;
  logger: Logger;
};

/** How to run a database process that serves on a Unix socket and ends when its stdin closes. */
export type LaunchSpec = {
  /** For messages: 'mongod', 'embedded engine'. */
  kind: string;
  /** Program and arguments; the process must listen at this path. */
  command(socketPath: string): readonly [program: string, ...args: string[]];
  env: NodeJS.ProcessEnv;
};

/** One way to obtain a MongoDB. */
export type Provider = {
  /** Its name in GATEHOUSE_MONGO, which is also that of its data directory. */
  name: string;
  /**
   * Finds or fetches the program.
   * @throws ProviderError when the program is not available here
   */
  prepare(context: ProviderContext): Promise<LaunchSpec>;
};

/** Why a provider has no database, as one sentence. */
export class ProviderError extends Error {
  override name = 'ProviderError';
}

/** An error after which no other provider is tried, since that would hide the problem. */
export class FatalProviderError extends ProviderError {
  override name = 'FatalProviderError';
}

/** @throws ProviderError on Windows, where the databases that this package runs have no Unix sockets. */
export function requireUnixSockets(program: string): void {
  if (process.platform === 'win32') {
    throw new ProviderError(`${program} is run on a Unix socket only, which Windows does not offer.`);
  }
}
