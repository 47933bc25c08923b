import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const COMPOSE_FILE = resolve(import.meta.dirname, '../../../docker-compose.yml');
const BUILD = resolve(import.meta.dirname, '../stand-ins/build.sh');

/** The settings of docker-compose.yml that name the images of others. */
export const IMAGE_SETTINGS = ['NODE_IMAGE', 'CADDY_IMAGE', 'MONGO_IMAGE', 'NATS_IMAGE'] as const;
export type ImageSetting = (typeof IMAGE_SETTINGS)[number];
/** An image, and whether it only stands in for the one that is wanted. */
export type PreparedImage = { setting: ImageSetting; wanted: string; image: string; isStandIn: boolean };

/** Why Docker cannot be used, as one sentence; undefined when a daemon answers. */
export async function dockerFault(): Promise<string | undefined> {
  try {
    await run('docker', ['info', '--format', '{{.ServerVersion}}']);
    return undefined;
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    return `No Docker daemon answers: ${(stderr || message).trim().split('\n').at(-1)}`;
  }
}

/**
 * The image that docker-compose.yml, or `env` instead, names in a setting, if it is here or a registry has it; or else a
 * stand-in for it.
 * @param say called with what is being fetched or built, which takes minutes
 * @throws Error with the output of what failed, when the stand-in cannot be built
 */
export async function prepareImage(
  setting: ImageSetting,
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
): Promise<PreparedImage> {
  const [, usual = ''] = new RegExp(`{${setting}:-([^}]+)}`).exec(readFileSync(COMPOSE_FILE, 'utf8')) ?? [];
  const wanted = env[setting] || usual;
  const docker = (...args: string[]) =>
    run('docker', args).then(
      () => true,
      () => false,
    );
  if (!(await docker('image', 'inspect', wanted))) {
    say(`Fetching ${wanted}.`);
    if (!(await docker('pull', '--quiet', wanted))) {
      say(`No registry has ${wanted}: building a stand-in for it.`);
      const { stdout } = await run(BUILD, [wanted]);
      return { setting, wanted, image: stdout.trim(), isStandIn: true };
    }
  }
  return { setting, wanted, image: wanted, isStandIn: false };
}
