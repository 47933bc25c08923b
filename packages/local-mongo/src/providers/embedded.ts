import { debian13Libraries } from '../debian-libraries.ts';
import { ENGINE_GLIBC, launchEngine, requireEngine } from '../engine.ts';
import { glibcVersion, isAtLeast } from '../glibc.ts';
import { type Provider, ProviderError, requireUnixSockets } from '../provider.ts';

/**
 * The embedded engine (the server's code as a library): on this system's C library or, if that is too old, on that of
 * Debian 13.
 */
export const embeddedEngine: Provider = {
  name: 'embedded',
  async prepare({ dataDirectory, env, logger }) {
    requireUnixSockets('The embedded engine');
    requireEngine();
    const launch = { kind: 'embedded engine', dataDirectory, env };
    if (process.platform !== 'linux') return launchEngine(launch);
    const version = glibcVersion();
    if (!version) throw new ProviderError('The embedded engine needs glibc, which this system does not use.');
    if (isAtLeast(version, ENGINE_GLIBC)) return launchEngine(launch);
    try {
      const { loader, directory } = await debian13Libraries(env, logger);
      const kind = "embedded engine on Debian 13's libraries";
      return launchEngine({ ...launch, kind, loader: [loader, '--library-path', directory] });
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      throw new ProviderError(
        `The embedded engine needs glibc ${ENGINE_GLIBC} and this system has ${version}. ${error.message}`,
      );
    }
  },
};
