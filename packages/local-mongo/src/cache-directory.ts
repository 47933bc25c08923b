import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** Where this user's fetched programs are kept (XDG Base Directory Specification: relative paths are invalid). */
export function cacheDirectory(env: NodeJS.ProcessEnv): string {
  const base = env.XDG_CACHE_HOME;
  if (base && isAbsolute(base)) return join(base, 'gatehouse');
  return join(env.HOME || homedir(), '.cache', 'gatehouse');
}
