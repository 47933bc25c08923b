import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const text = readFileSync(new URL('./style.css', import.meta.url), 'utf8');
const hash = createHash('sha256').update(text).digest('base64url').slice(0, 16);

/** The stylesheet of all pages. Its path contains a hash of its content, so it may be cached for ever. */
export const stylesheet = { path: `/account/style.${hash}.css`, text } as const;
