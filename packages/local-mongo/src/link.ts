import type { Logger } from '@gatehouse/kit/logger';

/** What a link of the chain may look at to find out whether and how it can run a database. */
export type Surroundings = {
  /** Where this link's database keeps its files. */
  dataDirectory: string;
  env: NodeJS.ProcessEnv;
  logger: Logger;
};

/** How to run one database process that serves on a Unix socket and ends when its stdin closes. */
export type Launch = {
  /** For people: 'mongod', 'embedded engine'. */
  kind: string;
  /** Program and arguments; the process must listen at this path. */
  command(socketPath: string): readonly [program: string, ...args: string[]];
  env: NodeJS.ProcessEnv;
};

/** One way to come by a MongoDB. */
export type Link = {
  /** As in GATEHOUSE_MONGO; also the name of its data directory. */
  name: string;
  /**
   * Finds or fetches the program.
   * @throws LinkFailure with one sentence when this way is closed here.
   */
  prepare(surroundings: Surroundings): Promise<Launch>;
};

/** One sentence: what was tried and why it failed. */
export class LinkFailure extends Error {
  override name = 'LinkFailure';
}

/** A failure after which another link must not be tried, because it would hide what is wrong. */
export class FinalFailure extends LinkFailure {
  override name = 'FinalFailure';
}

/** @throws LinkFailure on Windows, where the databases that this package runs have no Unix sockets. */
export function requireUnixSockets(program: string): void {
  if (process.platform === 'win32') {
    throw new LinkFailure(`${program} is run on a Unix socket only, which Windows does not offer.`);
  }
}
