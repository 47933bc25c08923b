import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const text = readFileSync(new URL('./style.css', import.meta.url), 'utf8');
const hash = createHash('sha256').update(text).digest('base64url').slice(0, 16);

/**
 * The one stylesheet of all pages. Its path names its content, so it may be cached for ever:
 * `content-type: text/css; charset=utf-8`, `cache-control: public, max-age=31536000, immutable`.
 */
export const stylesheet = { path: `/account/style.${hash}.css`, text } as const;
