import { readFileSync } from 'node:fs';
import { type Asset, createAsset } from './asset.ts';

/** The styles that all pages share. */
export const SHARED_STYLES = ['tokens.css', 'base.css', 'gate.css'].map(
  (file) => new URL(`styles/${file}`, import.meta.url),
);

/** The stylesheet of a service's pages: what all pages share, then what only these have. */
export function createStylesheet(directory: string, own: URL): Asset {
  return createAsset(directory, 'style.css', [...SHARED_STYLES, own], withThemes);
}

const DARK = /@media \(prefers-color-scheme: dark\) \{\s*:root \{([^}]*)\}\s*\}/g;

/** The colours for dark systems also for the theme `dark`, and not for the theme `light`, in the same order of precedence. */
export function withThemes(css: string): string {
  return css.replace(
    DARK,
    (_, colours: string) =>
      `@media (prefers-color-scheme: dark) {:root:where(:not([data-theme="light"])) {${colours}}}\n:root:where([data-theme="dark"]) {${colours}}`,
  );
}

/** The colours of the pages in one scheme, by the names of their custom properties without dashes. */
export function schemeColours(scheme: 'light' | 'dark'): Readonly<Record<string, string>> {
  const [light = '', dark = ''] = readFileSync(new URL('styles/tokens.css', import.meta.url), 'utf8').split(
    '@media',
  );
  const css = scheme === 'light' ? light : dark;
  return Object.fromEntries(
    [...css.matchAll(/--([\w-]+): (#\w+);/g)].map(([, name, colour]) => [name, colour]),
  );
}
