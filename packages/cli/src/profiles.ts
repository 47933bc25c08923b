import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { CliError } from './errors.ts';
import type { Credentials } from './sign-in.ts';

/** A sign-in at one deployment. `urls` are the addresses that name it, the issuer first. */
export type Profile = {
  urls: readonly [string, ...string[]];
  userId: string;
  username: string;
  credentials: Credentials;
};
type Stored = Omit<Profile, 'credentials'> & { credentials?: Credentials };
type Environment = Readonly<Record<string, string | undefined>>;

/** The age at which a lock is that of a killed command, in milliseconds. A running command renews its lock each second. */
const STALE_MS = 10_000;

export type Profiles = ReturnType<typeof createProfiles>;

/** The profiles of a person: in a file that only they can read, and their credentials in the system's keyring if it has one. */
export function createProfiles(env: Environment, platform: NodeJS.Platform) {
  const home = platform === 'win32' ? env.APPDATA : env.XDG_CONFIG_HOME;
  const directory = join(home || join(homedir(), '.config'), 'gatehouse');
  const file = join(directory, 'profiles.json');
  const lock = join(directory, 'profiles.lock');

  async function readAll(): Promise<Record<string, Stored>> {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    try {
      return text === undefined ? {} : JSON.parse(text);
    } catch {
      throw new CliError(`${file} is not JSON. Delete it, then run \`gatehouse login\`.`);
    }
  }

  /** Replaces the file as a whole, so that a killed command leaves the old one. */
  async function writeAll(all: Record<string, Stored>): Promise<void> {
    const next = `${file}.${randomUUID()}`;
    await writeFile(next, `${JSON.stringify(all, undefined, 2)}\n`, { mode: 0o600 });
    await rename(next, file);
  }

  /** Runs the work of one command at a time, since a refresh token works once (RFC 9700 §4.14.2). */
  async function exclusively<T>(work: () => Promise<T>): Promise<T> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    while (!(await writeFile(lock, '', { flag: 'wx' }).then(() => true, isTaken))) {
      const { mtimeMs } = await stat(lock).catch(() => ({ mtimeMs: Date.now() }));
      if (mtimeMs < Date.now() - STALE_MS) await rm(lock, { force: true });
      await wait(50);
    }
    const renewal = setInterval(() => utimes(lock, new Date(), new Date()).catch(() => {}), 1000).unref();
    try {
      return await work();
    } finally {
      clearInterval(renewal);
      await rm(lock, { force: true });
    }
  }

  async function read(name: string): Promise<Profile | undefined> {
    const stored = (await readAll())[name];
    if (stored === undefined) return undefined;
    if (stored.credentials !== undefined) return { ...stored, credentials: stored.credentials };
    const secret = await (await keyringEntry(name))?.getPassword().catch((cause) => {
      throw new CliError(
        'The keyring of the system cannot be read. Unlock it, or sign in again with GATEHOUSE_KEYRING=off.',
        { cause },
      );
    });
    return secret ? { ...stored, credentials: JSON.parse(secret) } : undefined;
  }

  /** Call it within `exclusively`. */
  async function write(name: string, { credentials, ...rest }: Profile): Promise<void> {
    const entry = await keyringEntry(name);
    const isKept = await entry?.setPassword(JSON.stringify(credentials)).then(
      () => true,
      () => false,
    );
    await writeAll({ ...(await readAll()), [name]: isKept ? rest : { ...rest, credentials } });
  }

  /** The entry of a profile in the system's keyring; undefined where there is none, such as on a server without a desktop. */
  async function keyringEntry(name: string) {
    const isAway = platform === 'linux' && env.DBUS_SESSION_BUS_ADDRESS === undefined;
    if (isAway || env.GATEHOUSE_KEYRING === 'off') return undefined;
    try {
      const { AsyncEntry } = await import('@napi-rs/keyring');
      // By default, Linux falls back to the keyring of the kernel, which ends with the session.
      return new AsyncEntry('gatehouse', name, { linux: { store: 'secret-service' } });
    } catch {
      return undefined;
    }
  }

  return {
    read,
    write,
    exclusively,
    async names() {
      return Object.keys(await readAll());
    },
    /** Call it within `exclusively`. */
    async remove(names: readonly string[]): Promise<void> {
      const kept = Object.entries(await readAll()).filter(([name]) => !names.includes(name));
      for (const name of names) await (await keyringEntry(name))?.deletePassword().catch(() => {});
      await writeAll(Object.fromEntries(kept));
    },
  };
}

function isTaken(error: NodeJS.ErrnoException): false {
  if (error.code === 'EEXIST') return false;
  throw error;
}
