import { stylesheet } from '../../src/pages/stylesheet.ts';

const [, light = '', dark = ''] =
  /:root \{([^}]*)\}[^{]*\{\s*:root:where\([^{]*\{([^}]*)\}/.exec(stylesheet.text) ?? [];
const colours = (block: string) =>
  new Map(
    [...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name = '', value = '']) => [name, value]),
  );
/** The colours of each scheme, by their names. */
export const SCHEMES = { light: colours(light), dark: new Map([...colours(light), ...colours(dark)]) };

/** What is read, and on what. */
export const TEXT: [text: string, ground: string][] = [
  ...['ground', 'surface'].flatMap((ground): [string, string][] =>
    ['ink', 'soft-ink', 'accent', 'accent-strong', 'bad', 'good'].map((text) => [text, ground]),
  ),
  ['on-accent', 'accent'],
  ['on-accent', 'accent-strong'],
  ['ink', 'tint'],
  ['accent', 'tint'],
  ['warning', 'warning-tint'],
  ['bad', 'bad-tint'],
  ['ink', 'bad-tint'],
  ['ink', 'good-tint'],
  ['on-wall', 'wall'],
];
/** What is recognised by its shape, and on what. */
export const SHAPES: [shape: string, ground: string][] = [
  ['edge', 'ground'],
  ['edge', 'surface'],
  ['focus', 'ground'],
  ['focus', 'surface'],
  ['bad', 'surface'],
];
