import { withThemes } from '@gatehouse/web/stylesheet';

/** The colours of pages in one scheme, by the names of their custom properties. */
type Palette = Readonly<Record<string, string>>;
export type Palettes = { light: Palette; dark: Palette };

const BLACK = '#000000';
const WHITE = '#ffffff';
/** The backgrounds of accent text in each scheme, beside its own tint (packages/web/src/styles/tokens.css). */
const GROUNDS = { light: ['#f1f3f1', '#ffffff'], dark: ['#101715', '#18211e'] };
/** WCAG 2.2, 1.4.3. */
const TEXT_CONTRAST = 4.5;

/** The palettes in which a colour is the accent: darker or lighter where text would be hard to read. */
export function accentPalettes(colour: string): Palettes {
  const accent = (scheme: 'light' | 'dark') => {
    const [extreme, tinted] = scheme === 'light' ? [BLACK, 0.88] : [WHITE, 0.8];
    const tint = mix(colour, GROUNDS[scheme][1] ?? WHITE, tinted);
    const readable = towards(colour, extreme, (it) =>
      [...GROUNDS[scheme], tint].every((ground) => contrast(it, ground) >= TEXT_CONTRAST),
    );
    return {
      accent: readable,
      'accent-strong': mix(readable, extreme, 0.3),
      'on-accent': scheme === 'light' ? WHITE : mix(readable, BLACK, 0.9),
      tint,
    };
  };
  return { light: accent('light'), dark: accent('dark') };
}

/** The palettes of a whole deployment: the illustration has the colour, too. */
export function brandPalettes(colour: string): Palettes {
  const { light, dark } = accentPalettes(colour);
  const wall = towards(colour, BLACK, (it) => contrast(it, WHITE) >= 9);
  const gate = (ground: string) => ({
    wall: ground,
    'on-wall': WHITE,
    ...Object.fromEntries(
      [0.5, 0.36, 0.24, 0.15, 0.08].map((part, i) => [`arch-${i}`, mix(ground, WHITE, part)]),
    ),
    light: mix(ground, WHITE, 0.88),
  });
  return { light: { ...light, ...gate(wall) }, dark: { ...dark, ...gate(mix(wall, BLACK, 0.3)) } };
}

/** The palettes as a stylesheet that follows that of the page. */
export function paletteStyles({ light, dark }: Palettes): string {
  const block = (palette: Palette) =>
    `:root {\n${Object.entries(palette)
      .map(([name, colour]) => `  --${name}: ${colour};\n`)
      .join('')}}\n`;
  return withThemes(`${block(light)}@media (prefers-color-scheme: dark) {\n${block(dark)}}\n`);
}

/** WCAG 2.2, contrast ratio. */
export function contrast(a: string, b: string): number {
  const [low = 0, high = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

/** The first mixture of a colour with another that will do, in steps of a fiftieth. */
function towards(colour: string, other: string, isGood: (mixture: string) => boolean): string {
  for (let step = 0; step < 50; step += 1) {
    const mixture = mix(colour, other, step / 50);
    if (isGood(mixture)) return mixture;
  }
  return other;
}

/** A colour with so much of another in it, from 0 to 1. */
function mix(colour: string, other: string, part: number): string {
  const mixed = channels(colour).map((value, i) =>
    Math.round(value + ((channels(other)[i] ?? 0) - value) * part),
  );
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

function channels(colour: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
}

/** WCAG 2.2, relative luminance. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channels(colour).map((channel) => {
    const value = channel / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
