import { tmpdir } from 'node:os';
import { resolve } from 'node:path';

/** Names the image of NATS servers to the test files, in a run that uses containers. */
export const NATS_IMAGE_VARIABLE = 'GATEHOUSE_TEST_NATS_IMAGE';

const ROOT = resolve(import.meta.dirname, '../../..');
const MONGO_PORT = 27017;
/** Loaded when it is used, since few runs do. */
const load = () => import('testcontainers');

/** Starts a MongoDB of this image in a container, which stop() removes. */
export async function startMongoContainer(image: string): Promise<{ uri: string; stop(): Promise<unknown> }> {
  const { GenericContainer, Wait } = await load();
  const container = await new GenericContainer(image)
    .withExposedPorts(MONGO_PORT)
    .withWaitStrategy(Wait.forLogMessage(/waiting for connections/i))
    .start();
  const address = `${container.getHost()}:${container.getMappedPort(MONGO_PORT)}`;
  // As a local MongoDB (packages/local-mongo), whose journal has every write that is acknowledged.
  return {
    uri: `mongodb://${address}/?directConnection=true&w=1&journal=true`,
    stop: () => container.stop(),
  };
}

/**
 * Starts a NATS server of this image in a container on the network of this machine, so that several can be a cluster. It finds
 * the files of the repository and temporary ones under their paths here.
 */
export async function startNatsContainer(
  image: string,
  options: { port: number; args: readonly string[]; env: Record<string, string> },
): Promise<{ send(signal: NodeJS.Signals): Promise<unknown>; kill(): Promise<unknown> }> {
  const { port, args, env } = options;
  const { GenericContainer, getContainerRuntimeClient, Wait } = await load();
  const user = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
  const container = await new GenericContainer(image)
    .withCommand(['nats-server', '-a', '127.0.0.1', '-p', `${port}`, ...args])
    .withEnvironment(env)
    .withUser(user)
    .withBindMounts([tmpdir(), ROOT].map((path) => ({ source: path, target: path })))
    .withNetworkMode('host')
    .withWaitStrategy(Wait.forLogMessage('Server is ready'))
    .start();
  const { container: client } = await getContainerRuntimeClient();
  const send = (signal: NodeJS.Signals) => client.getById(container.getId()).kill({ signal });
  return {
    send,
    async kill() {
      await send('SIGKILL');
      await container.stop();
    },
  };
}
