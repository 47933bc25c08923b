import t from 'tap';
import { contrast } from '../../src/pages/colours.ts';
import { stylesheet } from '../../src/pages/stylesheet.ts';
import { SCHEMES, SHAPES, TEXT } from './contrast-pairs.ts';

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
