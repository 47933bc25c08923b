import { randomInt } from 'node:crypto';
import t from 'tap';
import { accentPalettes, brandPalettes, contrast } from '../../src/pages/colours.ts';
import { SCHEMES, SHAPES, TEXT } from './contrast-pairs.ts';

const EXTREMES = ['#000000', '#ffffff', '#ffff00', '#0000ff', '#777777'];
const random = () => `#${randomInt(0x1000000).toString(16).padStart(6, '0')}`;

t.test(
  'every colour makes palettes that can be read in both schemes (WCAG 2.2, 1.4.3 and 1.4.11)',
  async (t) => {
    const unreadable = new Set<string>();
    for (const colour of [...EXTREMES, ...Array.from({ length: 2000 }, random)]) {
      for (const palettes of [accentPalettes(colour), brandPalettes(colour)]) {
        for (const scheme of ['light', 'dark'] as const) {
          const of = new Map([...SCHEMES[scheme], ...Object.entries(palettes[scheme])]);
          const ratio = (a: string, b: string) => contrast(of.get(a) ?? '#777777', of.get(b) ?? '#777777');
          const wrong = [
            ...TEXT.filter(([text, ground]) => ratio(text, ground) < 4.5),
            ...SHAPES.filter(([shape, ground]) => ratio(shape, ground) < 3),
          ];
          for (const pair of wrong) unreadable.add(`${colour} ${scheme}: ${pair.join(' on ')}`);
        }
      }
    }
    t.strictSame([...unreadable].slice(0, 10), []);
    t.equal(accentPalettes('#0057b8').light.accent, '#0057b8', 'one that can be read stays as it is');
  },
);
