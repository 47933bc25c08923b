import { findExecutable, isExecutable } from '../executable.ts';
import { FinalFailure, type Link, LinkFailure, requireUnixSockets } from '../link.ts';
import { launchMongod } from '../mongod.ts';

/** The mongod that MONGOD_BINARY names, else the first on the PATH. */
export const installedMongod: Link = {
  name: 'mongod',
  async prepare({ dataDirectory, env }) {
    requireUnixSockets('mongod');
    const named = env.MONGOD_BINARY;
    if (named) {
      if (!(await isExecutable(named))) {
        throw new FinalFailure(`MONGOD_BINARY is ${named}, which is not a program that can be run.`);
      }
      return launchMongod({ kind: 'mongod', binary: named, dataDirectory, env });
    }
    const binary = await findExecutable('mongod', env);
    if (!binary) throw new LinkFailure('There is no mongod on the PATH.');
    return launchMongod({ kind: 'mongod', binary, dataDirectory, env });
  },
};
