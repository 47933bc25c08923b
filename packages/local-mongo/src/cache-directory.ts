import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** The user's cache directory for fetched programs (XDG Base Directory Specification: relative paths are invalid). */
export function cacheDirectory(env: NodeJS.ProcessEnv): string {
  const base = env.XDG_CACHE_HOME;
  if (base && isAbsolute(base)) return join(base, 'gatehouse');
  return join(env.HOME || homedir(), '.cache', 'gatehouse');
}
