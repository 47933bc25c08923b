import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The archive keys of this Debian release, which include those of the next release. */
export const DEBIAN_KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

const PUBLIC_ARCHIVE = 'http://deb.debian.org/debian';
const COMMAND_LIMIT_MS = 120_000;

/** Packages of a Debian release, which need not be that of this system. */
type Wanted = { suite: string; architecture: string; packages: readonly string[] };

/**
 * Fetches packages through apt, verified with Debian's keys, and unpacks them under `work`. Needs no root and does not
 * change the system's apt state.
 * @returns the root directory of the unpacked packages
 * @throws Error with apt's message when no archive has them
 */
export async function fetchPackages(wanted: Wanted, work: string, env: NodeJS.ProcessEnv): Promise<string> {
  // Messages are parsed in English.
  const english = { ...env, LC_ALL: 'C' };
  const messages: string[] = [];
  for (const archive of await archives(english)) {
    try {
      return await fetchFrom(archive, wanted, work, english);
    } catch (error) {
      messages.push(messageOf(error));
    }
  }
  throw new Error([...new Set(messages)].join('; '));
}

/**
 * The Debian archives of this system's apt, since a company's mirror may be the only one that can be reached, and the public
 * one. An archive that is not Debian's does no harm: its signature does not match.
 */
async function archives(env: NodeJS.ProcessEnv): Promise<Set<string>> {
  const { stdout } = await run('apt-get', ['--print-uris', 'update'], { env, timeout: COMMAND_LIMIT_MS });
  const configured = stdout.matchAll(/^'([^']*\/debian)\/+dists\/[^'/]+\/InRelease'/gm);
  return new Set([...[...configured].map(([, address = '']) => address), PUBLIC_ARCHIVE]);
}

async function fetchFrom(
  archive: string,
  wanted: Wanted,
  work: string,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const state = await mkdtemp(join(work, 'apt-'));
  const directories = ['sources', 'preferences', 'lists/partial', 'cache/archives/partial', 'packages'];
  for (const name of directories) await mkdir(join(state, name), { recursive: true });
  const source = {
    Types: 'deb',
    URIs: archive,
    Suites: wanted.suite,
    Components: 'main',
    Architectures: wanted.architecture,
    'Signed-By': DEBIAN_KEYRING,
  };
  const lines = Object.entries(source).map(([name, value]) => `${name}: ${value}\n`);
  await writeFile(join(state, 'sources', 'wanted.sources'), lines.join(''));
  const config = join(state, 'apt.conf');
  await writeFile(config, aptConfig(state));

  const packages = join(state, 'packages');
  // -c is read after the system's settings (APT_CONFIG before): the proxy is kept, the hooks are cleared.
  const apt = (...args: string[]) =>
    run('apt-get', ['-qq', '-c', config, ...args], { env, cwd: packages, timeout: COMMAND_LIMIT_MS });
  await apt('update');
  await apt('download', ...wanted.packages);
  const root = join(state, 'root');
  for (const name of await readdir(packages)) {
    await run('dpkg-deb', ['-x', join(packages, name), root], { env, timeout: COMMAND_LIMIT_MS });
  }
  return root;
}

function aptConfig(state: string): string {
  return `
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "${state}/sources";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "${state}/preferences";
Dir::State "${state}";
Dir::State::Lists "${state}/lists";
Dir::State::status "/dev/null";
Dir::Cache "${state}/cache";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::http::Timeout "10";
Acquire::https::Timeout "10";
Acquire::Retries "1";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
APT::Get::AllowUnauthenticated "false";
APT::Update::Error-Mode "any";
APT::Sandbox::User "";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
`;
}

/**
 * The first of apt's messages, which has the cause; the others repeat it for each file. Credentials in the address of a
 * mirror are removed.
 */
function messageOf(error: unknown): string {
  const { stderr = '', message } = error as Error & { stderr?: string };
  const text = /^[EW]: (.*)/m.exec(stderr)?.[1]?.trim() ?? message;
  return text.replaceAll(/:\/\/[^\s/@]+@/g, '://');
}
