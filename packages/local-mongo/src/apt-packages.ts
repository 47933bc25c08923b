import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The keys of the Debian release in use, which know the next release's too. */
export const DEBIAN_KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

const PUBLIC_ARCHIVE = 'http://deb.debian.org/debian';
const COMMAND_LIMIT_MS = 120_000;

/** Packages of a Debian release, whichever release this system is. */
export type Wanted = { suite: string; architecture: string; packages: readonly string[] };

/**
 * Fetches packages through apt, checked against Debian's keys, and unpacks them under `work`. Needs no root
 * and leaves the system's own apt state as it is.
 * @returns the directory that stands for / in the packages.
 * @throws Error with apt's complaint when no archive has them.
 */
export async function fetchPackages(wanted: Wanted, work: string, env: NodeJS.ProcessEnv): Promise<string> {
  // The complaints are looked for in English.
  const english = { ...env, LC_ALL: 'C' };
  const complaints: string[] = [];
  for (const archive of await archives(english)) {
    try {
      return await fetchFrom(archive, wanted, work, english);
    } catch (error) {
      complaints.push(complaint(error));
    }
  }
  throw new Error([...new Set(complaints)].join('; '));
}

/**
 * The archives that this system's apt gets Debian from, since a company's mirror may be all that it can
 * reach, and the public one. That an address only looks like Debian's does no harm: its signature would not
 * match.
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
  // -c is read after the system's settings (APT_CONFIG before): its proxy holds, its hooks are cleared.
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
 * The first of apt's complaints, which names the cause; those that follow repeat it for each file. Without
 * the credentials that a mirror's address may hold.
 */
function complaint(error: unknown): string {
  const { stderr = '', message } = error as Error & { stderr?: string };
  const text = /^[EW]: (.*)/m.exec(stderr)?.[1]?.trim() ?? message;
  return text.replaceAll(/:\/\/[^\s/@]+@/g, '://');
}
