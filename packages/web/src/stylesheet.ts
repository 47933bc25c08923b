import { type Asset, createAsset } from './asset.ts';

/** The styles that all pages share. */
export const SHARED_STYLES = ['tokens.css', 'base.css', 'gate.css'].map(
  (file) => new URL(`styles/${file}`, import.meta.url),
);

/** The stylesheet of a service's pages: what all pages share, then what only these have. */
export function createStylesheet(directory: string, own: URL): Asset {
  return createAsset(directory, 'style.css', [...SHARED_STYLES, own]);
}
