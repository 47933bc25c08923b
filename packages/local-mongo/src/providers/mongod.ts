import { findExecutable, isExecutable } from '../executable.ts';
import { launchMongod } from '../mongod.ts';
import { FatalProviderError, type Provider, ProviderError, requireUnixSockets } from '../provider.ts';

/** The mongod in MONGOD_BINARY, else the first on the PATH. */
export const installedMongod: Provider = {
  name: 'mongod',
  async prepare({ dataDirectory, env }) {
    requireUnixSockets('mongod');
    const named = env.MONGOD_BINARY;
    if (named) {
      if (!isExecutable(named)) {
        throw new FatalProviderError(`MONGOD_BINARY is ${named}, which is not an executable file.`);
      }
      return launchMongod({ kind: 'mongod', binary: named, dataDirectory, env });
    }
    const binary = findExecutable('mongod', env);
    if (!binary) throw new ProviderError('There is no mongod on the PATH.');
    return launchMongod({ kind: 'mongod', binary, dataDirectory, env });
  },
};
