import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** Whether the path is a file that this user may run. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The first program of this name on env.PATH, or in `more` folders. Relative and empty entries are ignored. */
export function findExecutable(
  name: string,
  env: NodeJS.ProcessEnv,
  ...more: readonly string[]
): string | undefined {
  return [...(env.PATH ?? '').split(delimiter), ...more]
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, name))
    .find(isExecutable);
}
