import { readFileSync } from 'node:fs';

const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');

/** The version of this release of Gatehouse: that of the package.json at the root. */
export const VERSION: string = JSON.parse(manifest).version;
