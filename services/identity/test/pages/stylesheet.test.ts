import t from 'tap';
import { stylesheet } from '../../src/pages/stylesheet.ts';

const [, light = '', dark = ''] = /:root \{([^}]*)\}[^{]*\{\s*:root \{([^}]*)\}/.exec(stylesheet.text) ?? [];
const colours = (block: string) =>
  new Map(
    [...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name = '', value = '']) => [name, value]),
  );
const SCHEMES = { light: colours(light), dark: new Map([...colours(light), ...colours(dark)]) };

const TEXT: [text: string, ground: string][] = [
  ...['ground', 'surface'].flatMap((ground): [string, string][] =>
    ['ink', 'soft-ink', 'accent', 'accent-strong', 'bad', 'good'].map((text) => [text, ground]),
  ),
  ['on-accent', 'accent'],
  ['on-accent', 'accent-strong'],
  ['ink', 'tint'],
  ['accent', 'tint'],
  ['bad', 'bad-tint'],
  ['ink', 'bad-tint'],
  ['ink', 'good-tint'],
  ['on-wall', 'wall'],
];
const SHAPES: [shape: string, ground: string][] = [
  ['edge', 'ground'],
  ['edge', 'surface'],
  ['focus', 'ground'],
  ['focus', 'surface'],
  ['bad', 'surface'],
];

/** WCAG 2.2, relative luminance. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: string, b: string): number {
  const [low = 0, high = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

for (const [scheme, of] of Object.entries(SCHEMES)) {
  t.test(`contrast in the ${scheme} scheme (WCAG 2.2, 1.4.3 and 1.4.11)`, async (t) => {
    const measure = (a: string, b: string) => contrast(of.get(a) ?? '#777777', of.get(b) ?? '#777777');
    for (const [text, ground] of TEXT) t.ok(measure(text, ground) >= 4.5, `${text} on ${ground}`);
    for (const [shape, ground] of SHAPES) t.ok(measure(shape, ground) >= 3, `${shape} on ${ground}`);
  });
}

t.test('the path names the content, and nothing is loaded from elsewhere', async (t) => {
  t.match(stylesheet.path, /^\/account\/style\.[\w-]{16}\.css$/);
  t.notMatch(stylesheet.text, /url\(|@import|@font-face/);
});
