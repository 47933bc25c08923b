import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
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

/** The keyring of the system, with one secret for each profile. */
type Keyring = {
  get(account: string): Promise<string | null>;
  set(account: string, secret: string): Promise<unknown>;
  remove(account: string): Promise<unknown>;
};

/** How long a command may hold the lock, in milliseconds; that of a killed one is broken then. */
const LOCK_MS = 30_000;

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

  /** Replaced as a whole: a command that is killed leaves the old file. */
  async function writeAll(all: Record<string, Stored>): Promise<void> {
    const next = `${file}.${randomUUID()}`;
    await writeFile(next, `${JSON.stringify(all, undefined, 2)}\n`, { mode: 0o600 });
    await rename(next, file);
  }

  /** Runs one at a time, also among commands that run side by side: a refresh token works once (RFC 9700 §4.14.2). */
  async function exclusively<T>(work: () => Promise<T>): Promise<T> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    while (!(await writeFile(lock, '', { flag: 'wx' }).then(() => true, isTaken))) {
      const { mtimeMs } = await stat(lock).catch(() => ({ mtimeMs: Date.now() }));
      if (mtimeMs < Date.now() - LOCK_MS) await rm(lock, { force: true });
      await wait(50);
    }
    try {
      return await work();
    } finally {
      await rm(lock, { force: true });
    }
  }

  async function read(name: string): Promise<Profile | undefined> {
    const stored = (await readAll())[name];
    if (stored === undefined) return undefined;
    const secret =
      stored.credentials ?? JSON.parse((await (await openKeyring(env, platform))?.get(name)) ?? 'null');
    return secret === null ? undefined : { ...stored, credentials: secret };
  }

  /** Within `exclusively`. */
  async function write(name: string, { credentials, ...rest }: Profile): Promise<void> {
    const keyring = await openKeyring(env, platform);
    const isKept = await keyring?.set(name, JSON.stringify(credentials)).then(
      () => true,
      () => false,
    );
    await writeAll({ ...(await readAll()), [name]: isKept ? rest : { ...rest, credentials } });
  }

  return {
    read,
    write,
    exclusively,
    async names() {
      return Object.keys(await readAll());
    },
    /** Within `exclusively`. */
    async remove(names: readonly string[]): Promise<void> {
      const kept = Object.entries(await readAll()).filter(([name]) => !names.includes(name));
      const keyring = await openKeyring(env, platform);
      for (const name of names) await keyring?.remove(name).catch(() => {});
      await writeAll(Object.fromEntries(kept));
    },
  };
}

function isTaken(error: NodeJS.ErrnoException): false {
  if (error.code === 'EEXIST') return false;
  throw error;
}

/** Undefined where the system has none, such as on a server without a desktop. */
async function openKeyring(env: Environment, platform: NodeJS.Platform): Promise<Keyring | undefined> {
  const isAway = platform === 'linux' && env.DBUS_SESSION_BUS_ADDRESS === undefined;
  if (isAway || env.GATEHOUSE_KEYRING === 'off') return undefined;
  const library = await import('@napi-rs/keyring').catch(() => undefined);
  if (library === undefined) return undefined;
  const entry = (account: string) => new library.AsyncEntry('gatehouse', account);
  return {
    get: (account) =>
      entry(account)
        .getPassword()
        .catch(() => null),
    set: async (account, secret) => entry(account).setPassword(secret),
    remove: async (account) => entry(account).deletePassword(),
  };
}
