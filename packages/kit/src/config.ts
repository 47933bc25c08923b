import { isIP } from 'node:net';

/**
 * Settings come from the environment, are read once, in a service's config.ts, and are passed on as plain
 * values. A setting that is set to the empty string counts as not set (compose files pass such).
 */
export type Setting<T> = { name: string; read: (raw: string | undefined) => T };

/** The values that a schema of settings reads to. */
export type SettingValues<S> = { [K in keyof S]: S[K] extends Setting<infer T> ? T : never };

/** One or more settings are missing or wrong; the message has a line for each. */
export class SettingsError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'SettingsError';
  }
}

class BadSetting extends Error {}

function setting<T>(name: string, fallback: T | undefined, parse: (raw: string) => T): Setting<T> {
  return {
    name,
    read(raw) {
      if (raw !== undefined && raw !== '') return parse(raw);
      if (fallback === undefined) throw new BadSetting('is required');
      return fallback;
    },
  };
}

/** A text, required unless there is a default. */
export function text(name: string, fallback?: string): Setting<string> {
  return setting(name, fallback, (raw) => raw);
}

/** A setting that may be absent. */
export function optional<T>(inner: Setting<T>): Setting<T | undefined> {
  return { name: inner.name, read: (raw) => (raw === undefined || raw === '' ? undefined : inner.read(raw)) };
}

/** A whole number within bounds (inclusive). */
export function integer(
  name: string,
  bounds: { min: number; max: number; default?: number },
): Setting<number> {
  return setting(name, bounds.default, (raw) => {
    const value = Number(raw);
    if (!/^-?\d+$/.test(raw) || value < bounds.min || value > bounds.max) {
      throw new BadSetting(`must be a whole number from ${bounds.min} to ${bounds.max}`);
    }
    return value;
  });
}

/** One of a few words. */
export function oneOf<const T extends string>(name: string, words: readonly T[], fallback?: T): Setting<T> {
  return setting(name, fallback, (raw) => {
    const found = words.find((word) => word === raw);
    if (found === undefined) throw new BadSetting(`must be one of ${words.join(', ')}`);
    return found;
  });
}

/** A day such as 2027-07-10, which begins at midnight UTC; `min` is the first that is taken. */
export function date(name: string, bounds: { min: string; default?: string }): Setting<Date> {
  const read = (raw: string): Date => {
    const value = new Date(`${raw}T00:00:00Z`);
    const isDay = /^\d{4}-\d{2}-\d{2}$/.test(raw) && !Number.isNaN(value.getTime());
    // The 31st of June would become the 1st of July.
    if (!isDay || !value.toISOString().startsWith(raw) || raw < bounds.min) {
      throw new BadSetting(`must be a date such as 2027-01-31, and not before ${bounds.min}`);
    }
    return value;
  };
  return setting(name, bounds.default === undefined ? undefined : read(bounds.default), read);
}

/** A comma-separated list; empty parts are dropped. */
export function list(name: string, fallback: readonly string[] = []): Setting<readonly string[]> {
  return setting(name, fallback, (raw) =>
    raw
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  );
}

/** A comma-separated list of addresses and CIDR ranges. */
export function addresses(name: string): Setting<readonly string[]> {
  const inner = list(name);
  return {
    name,
    read(raw) {
      const entries = inner.read(raw);
      for (const entry of entries) {
        const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
        const most = isIP(address) === 6 ? 128 : 32;
        if (isIP(address) === 0 || Number(bits ?? 0) > most) {
          throw new BadSetting('must list addresses or ranges such as 10.0.0.0/8');
        }
      }
      return entries;
    },
  };
}

/** An http or https origin, without path, query or user information; returned without a trailing slash. */
export function origin(name: string, fallback?: string): Setting<string> {
  return setting(name, fallback, (raw) => {
    // What the parser would mend in silence is refused: only scheme, host and port, and a slash at most.
    const url = /^https?:\/\/[^\s/?#@*\\]+\/?$/i.test(raw) ? URL.parse(raw) : null;
    if (url === null) throw new BadSetting('must be an origin such as https://id.example.com');
    return url.origin;
  });
}

/** A URL of one of the given schemes (with the colon). The value may hold credentials: never print it. */
export function url(name: string, schemes: readonly string[], fallback?: string): Setting<string> {
  return setting(name, fallback, (raw) => {
    // A MongoDB URI may name several hosts, which URL.parse refuses: only the scheme is checked here.
    if (!schemes.some((scheme) => raw.startsWith(`${scheme}//`))) {
      throw new BadSetting(`must begin with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}`);
    }
    return raw;
  });
}

/** A secret of 256 bits, written as 64 hexadecimal digits or in base64. */
export function key256(name: string): Setting<Buffer> {
  return setting<Buffer>(name, undefined, (raw) => {
    const value = /^[0-9a-f]{64}$/i.test(raw) ? Buffer.from(raw, 'hex') : Buffer.from(raw, 'base64');
    // 43 digits of base64 or base64url and perhaps a pad: Buffer.from leaves out what is not one.
    const isKey = /^(?:[0-9a-f]{64}|[A-Za-z0-9+/_-]{43}=?)$/i.test(raw);
    if (!isKey || value.length !== 32) throw new BadSetting('must be 32 bytes, in hexadecimal or base64');
    return value;
  });
}

/**
 * Reads every setting of the schema from the environment. Throws a SettingsError that names all that are
 * missing or wrong; values are never quoted, as some are secrets.
 */
export function readSettings<S extends Record<string, Setting<unknown>>>(
  schema: S,
  env: NodeJS.ProcessEnv,
): SettingValues<S> {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [key, { name, read }] of Object.entries(schema)) {
    try {
      values[key] = read(env[name]);
    } catch (error) {
      if (!(error instanceof BadSetting)) throw error;
      problems.push(`The setting ${name} ${error.message}.`);
    }
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return values as SettingValues<S>;
}

/** The settings that every service process has. */
export const serverSettings = {
  port: integer('PORT', { min: 1, max: 65535, default: 3000 }),
  host: text('HOST', '::'),
  publicUrl: origin('PUBLIC_URL'),
  trustedProxies: addresses('TRUSTED_PROXIES'),
  logLevel: oneOf('LOG_LEVEL', ['debug', 'info', 'warn', 'error'], 'info'),
  drainSeconds: integer('DRAIN_SECONDS', { min: 0, max: 600, default: 10 }),
  rateLimit: oneOf('RATE_LIMIT', ['on', 'off'], 'on'),
  /** For how long credentials are taken while nothing is heard of what has been revoked. */
  staleAfterSeconds: integer('REVOCATION_STALE_SECONDS', { min: 10, max: 3600, default: 300 }),
};

export type ServerConfig = SettingValues<typeof serverSettings>;
