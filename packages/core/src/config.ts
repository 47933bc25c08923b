import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { isAbsolute } from 'node:path';
import type { KeyList } from './sealing.ts';

/**
 * Settings come from the environment. A service's config.ts reads them once, and passes them on as plain values. A
 * setting with the empty string counts as not set, since compose files pass those.
 */
export type Setting<T> = {
  name: string;
  read: (raw: string | undefined) => T;
  /** The values that it takes, in words. */
  type: string;
  /** The default, in words; undefined when it must be set. */
  fallback: string | undefined;
  /** The effect of the setting, in a sentence of Markdown; undefined until `described` has added it. */
  description?: string;
  /** A value that shows what one looks like, where `type` does not. */
  example?: string;
  /** Whether the value is a secret or may contain one, such as a URL with credentials. */
  isSecret?: boolean;
  /** The name of the required setting that it replaces. The two exclude one another. */
  insteadOf?: string;
};

/** The values of a schema of settings. */
export type SettingValues<S> = { [K in keyof S]: S[K] extends Setting<infer T> ? T : never };

/** One or more settings are missing or invalid; the message has a line for each. */
export class SettingsError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'SettingsError';
  }
}

/** Thrown by `parse` of a setting: its message goes on from the name of the setting, and quotes no value. */
export class InvalidSetting extends Error {}

/** A setting of another kind. `parse` gets what is set, and throws an InvalidSetting. */
export function setting<T>(
  name: string,
  type: string,
  fallback: T | undefined,
  parse: (raw: string) => T,
): Setting<T> {
  return {
    name,
    type,
    fallback: fallback instanceof Date ? fallback.toISOString().slice(0, 10) : fallback?.toString(),
    read(raw) {
      if (raw !== undefined && raw !== '') return parse(raw);
      if (fallback === undefined) throw new InvalidSetting('is required');
      return fallback;
    },
  };
}

/** The setting with its description and perhaps an example, which docs/settings.md and .env.example are made from. */
export function described<T>(description: string, setting: Setting<T>, example?: string): Setting<T> {
  return { ...setting, description, ...(example === undefined ? {} : { example }) };
}

/** A string; required unless there is a default. */
export function text(name: string, fallback?: string): Setting<string> {
  return setting(name, 'text', fallback, (raw) => raw);
}

/** A string that nobody else may see; required. Never print it. */
export function secret(name: string): Setting<string> {
  return { ...text(name), isSecret: true };
}

/** A setting that may be absent. `fallback` describes the effect of its absence in words, where that is useful. */
export function optional<T>(inner: Setting<T>, fallback = ''): Setting<T | undefined> {
  return {
    ...inner,
    fallback,
    read: (raw) => (raw === undefined || raw === '' ? undefined : inner.read(raw)),
  };
}

/** A setting that may be set in place of another, which is required otherwise. */
export function insteadOf<T>(required: string, inner: Setting<T>): Setting<T | undefined> {
  return { ...optional(inner), insteadOf: required };
}

/** A whole number within inclusive bounds. */
export function integer(
  name: string,
  bounds: { min: number; max: number; default?: number },
): Setting<number> {
  const type = `a whole number from ${bounds.min} to ${bounds.max}`;
  return setting(name, type, bounds.default, (raw) => {
    const value = Number(raw);
    if (!/^-?\d+$/.test(raw) || value < bounds.min || value > bounds.max) {
      throw new InvalidSetting(`must be ${type}`);
    }
    return value;
  });
}

/** A number from 0 to 1. */
export function share(name: string, fallback: number): Setting<number> {
  const type = 'a number from 0 to 1';
  return setting(name, type, fallback, (raw) => {
    const value = Number(raw);
    if (!/^[\d.]+$/.test(raw) || !(value <= 1)) throw new InvalidSetting(`must be ${type}`);
    return value;
  });
}

/**
 * A value in JSON, which may contain secrets. `read` throws an error whose message says, after the name of the setting, what is
 * wrong with it, and quotes no value.
 */
export function json<T>(name: string, type: string, read: (value: unknown) => T): Setting<T> {
  const parse = (raw: string): T => {
    let value: unknown;
    try {
      value = JSON.parse(raw);
    } catch {
      // The message of the parser quotes the text.
      throw new InvalidSetting('must be JSON');
    }
    try {
      return read(value);
    } catch (error) {
      throw new InvalidSetting((error as Error).message);
    }
  };
  return { ...setting(name, type, undefined, parse), isSecret: true };
}

/** One of several words. */
export function oneOf<const T extends string>(name: string, words: readonly T[], fallback?: T): Setting<T> {
  const type = `one of ${words.join(', ')}`;
  return setting(name, type, fallback, (raw) => {
    const found = words.find((word) => word === raw);
    if (found === undefined) throw new InvalidSetting(`must be ${type}`);
    return found;
  });
}

/** A day such as 2027-07-10, as its midnight UTC; `min` is the first day accepted. */
export function date(name: string, bounds: { min: string; default?: string }): Setting<Date> {
  const type = `a date such as 2027-01-31, and not before ${bounds.min}`;
  const read = (raw: string): Date => {
    const value = new Date(`${raw}T00:00:00Z`);
    const isDay = /^\d{4}-\d{2}-\d{2}$/.test(raw) && !Number.isNaN(value.getTime());
    // June 31 would become July 1.
    if (!isDay || !value.toISOString().startsWith(raw) || raw < bounds.min) {
      throw new InvalidSetting(`must be ${type}`);
    }
    return value;
  };
  return setting(name, type, bounds.default === undefined ? undefined : read(bounds.default), read);
}

/** A comma-separated list, of these words only if they are given; empty parts are dropped. */
export function list(
  name: string,
  fallback: readonly string[] = [],
  words?: readonly string[],
): Setting<readonly string[]> {
  return setting(name, 'a list, separated by commas', fallback, (raw) => {
    const entries = raw
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
    if (words !== undefined && entries.some((entry) => !words.includes(entry))) {
      throw new InvalidSetting(`must list some of ${words.join(', ')}`);
    }
    return entries;
  });
}

/** A comma-separated list of addresses and CIDR ranges. */
export function addresses(name: string): Setting<readonly string[]> {
  const inner = list(name);
  return {
    ...inner,
    type: 'a list of addresses or ranges such as 10.0.0.0/8, separated by commas',
    read(raw) {
      const entries = inner.read(raw);
      for (const entry of entries) {
        const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
        const maxBits = isIP(address) === 6 ? 128 : 32;
        if (isIP(address) === 0 || Number(bits ?? 0) > maxBits) {
          throw new InvalidSetting('must list addresses or ranges such as 10.0.0.0/8');
        }
      }
      return entries;
    },
  };
}

/** An http or https origin, without path, query or user information; returned without a trailing slash. */
export function origin(name: string, fallback?: string): Setting<string> {
  const type = 'an origin such as https://id.example.com';
  return setting(name, type, fallback, (raw) => {
    // Only a scheme, a host and a port, and at most a slash: the parser would silently repair other input.
    const url = /^https?:\/\/[^\s/?#@*\\]+\/?$/i.test(raw) ? URL.parse(raw) : null;
    if (url === null) throw new InvalidSetting(`must be ${type}`);
    return url.origin;
  });
}

/** A URL of one of the given schemes (with the colon). The value may hold credentials: never print it. */
export function url(name: string, schemes: readonly string[], fallback?: string): Setting<string> {
  const starts = schemes.map((scheme) => (scheme === 'mailto:' ? scheme : `${scheme}//`));
  const beginnings = starts.join(' or ');
  const inner = setting(name, `a URL that begins with ${beginnings}`, fallback, (raw) => {
    // A MongoDB URI may name several hosts, which URL.parse refuses, so only the scheme is checked.
    if (!starts.some((start) => raw.startsWith(start)) || /\s/.test(raw)) {
      throw new InvalidSetting(`must begin with ${beginnings}`);
    }
    return raw;
  });
  return { ...inner, isSecret: true };
}

/**
 * A secret of 256 bits, written as 64 hexadecimal digits or in base64; or several, separated by commas, of which the first
 * is used and all are accepted.
 */
export function keys256(name: string): Setting<KeyList> {
  const type = '32 bytes in hexadecimal or base64, or several separated by commas';
  const inner = setting<KeyList>(name, type, undefined, (raw) => {
    const [inUse = '', ...accepted] = raw.split(',').map((part) => part.trim());
    return [key256(inUse), ...accepted.map(key256)];
  });
  return { ...inner, isSecret: true };
}

function key256(raw: string): Buffer {
  const value = /^[0-9a-f]{64}$/i.test(raw) ? Buffer.from(raw, 'hex') : Buffer.from(raw, 'base64');
  // 43 digits of base64 or base64url and perhaps padding: Buffer.from skips other characters.
  const isKey = /^(?:[0-9a-f]{64}|[A-Za-z0-9+/_-]{43}=?)$/i.test(raw);
  if (!isKey || value.length !== 32) throw new InvalidSetting('must be 32 bytes, in hexadecimal or base64');
  return value;
}

/** The problem when only some of these settings, by their names, have a value. */
export function requireTogether(values: Readonly<Record<string, unknown>>): string[] {
  const isSet = Object.values(values).map((value) => value !== undefined);
  const names = new Intl.ListFormat('en-GB').format(Object.keys(values));
  return new Set(isSet).size > 1 ? [`${names} must be set together.`] : [];
}

/** The value of a secret in a file. The path is not shown: somebody may have put the secret in its place, and base64 can begin with a slash. */
function readSecretFile(path: string): string {
  if (!isAbsolute(path)) throw new InvalidSetting('must be an absolute path');
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new InvalidSetting(`names a file that cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  const value = text.replace(/[\r\n]+$/, '');
  if (value === '') throw new InvalidSetting('names a file that is empty');
  return value;
}

/**
 * Reads every setting of the schema from the environment. The value of a secret setting may be in a file, whose absolute path is then in
 * the variable NAME_FILE; newlines at its end do not count. Throws a SettingsError that names every missing or invalid
 * setting, and settings that exclude one another; values are never quoted, because some are secrets. The value of a setting that another
 * replaces is undefined.
 */
export function readSettings<S extends Record<string, Setting<unknown>>>(
  schema: S,
  env: NodeJS.ProcessEnv,
): SettingValues<S> {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  const sourcesOf = ({ name, isSecret }: Setting<unknown>) =>
    [name, ...(isSecret ? [`${name}_FILE`] : [])].filter((variable) => (env[variable] ?? '') !== '');
  for (const [key, setting] of Object.entries(schema)) {
    const { name, read } = setting;
    const sources = sourcesOf(setting);
    const substitutes = Object.values(schema)
      .filter(({ insteadOf }) => insteadOf === name)
      .flatMap(sourcesOf);
    const given = [...sources, ...substitutes];
    if (given.length > 1)
      problems.push(`The settings ${new Intl.ListFormat('en-GB').format(given)} exclude one another.`);
    if (given.length > 1 || substitutes.length > 0) continue;
    const [source = name] = sources;
    try {
      values[key] = read(source === name ? env[name] : readSecretFile(env[source] ?? ''));
    } catch (error) {
      if (!(error instanceof InvalidSetting)) throw error;
      problems.push(`The setting ${source} ${error.message}.`);
    }
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return values as SettingValues<S>;
}
