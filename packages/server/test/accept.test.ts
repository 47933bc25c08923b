import { prefersHtml } from '@gatehouse/server/accept';
import t from 'tap';

const FIREFOX = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const CHROMIUM =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7';

const CASES: [accept: string | undefined, html: boolean][] = [
  [FIREFOX, true],
  [CHROMIUM, true],
  ['text/html', true],
  ['TEXT/HTML', true],
  ['text/*', true],
  ['text/html;charset=utf-8', true],
  ['application/json;q=0.5, text/html', true],
  ['application/json;q=0.5,text/html;q=0.501', true],
  ['text/html ; q=1.000 , application/json ; q=0.999', true],
  ['*/*;q=0.1, text/html;q=0.2', true],
  ['application/json;q=0, */*', true],
  // Programs, and whoever has no preference.
  [undefined, false],
  ['', false],
  ['*/*', false],
  ['application/json', false],
  ['application/*', false],
  ['text/html, application/json', false],
  ['application/json, text/plain, */*', false],
  ['text/html;q=0.4, application/json;q=0.5', false],
  ['text/html;q=0.4, */*', false],
  ['text/html;q=0', false],
  ['text/*, text/html;q=0', false],
  ['image/avif,image/webp,*/*;q=0.8', false],
  // What is malformed counts for nothing.
  ['text/html;q=2', false],
  ['text/html;q=', false],
  ['text/html;q=0.1234', false],
  ['html', false],
  [',;,=', false],
];

t.test('who prefers HTML to JSON (RFC 9110 §12.5.1)', async (t) => {
  for (const [accept, html] of CASES) t.equal(prefersHtml(accept), html, `"${accept}"`);
});
