import { type Content, html, render } from '@gatehouse/web/html';
import t from 'tap';

const VALUES: [value: Content, text: string][] = [
  ['plain', 'plain'],
  ['<b>', '&lt;b&gt;'],
  ['a & b', 'a &amp; b'],
  ['&lt;', '&amp;lt;'],
  ['"quoted"', '&quot;quoted&quot;'],
  ["it's", 'it&#39;s'],
  ['</script><script>', '&lt;/script&gt;&lt;script&gt;'],
  ['`$' + '{x}`', '`$' + '{x}`'],
  ['𝒜 é 👩‍🚀 \u202eabc', '𝒜 é 👩‍🚀 \u202eabc'],
  ['', ''],
  [0, '0'],
  [1.5, '1.5'],
  [false, ''],
  [null, ''],
  [undefined, ''],
  [[], ''],
  [['<', [false, '>'], html`<br>`], '&lt;&gt;<br>'],
  [html`<i>${'<'}</i>`, '<i>&lt;</i>'],
  [html`${html`${html`${'&'}`}`}`, '&amp;'],
];

t.test('a value between tags', async (t) => {
  for (const [value, text] of VALUES) t.equal(render(html`<p>${value}</p>`), `<p>${text}</p>`, text);
});

t.test('a value in an attribute', async (t) => {
  for (const [value, text] of VALUES.filter(([it]) => typeof it !== 'object' || it === null)) {
    t.equal(render(html`<p title="a ${value} z">`), `<p title="a ${text} z">`, text);
  }
  for (const value of [html`x`, ['x']]) t.throws(() => html`<p title="${value}">`, TypeError);
});

t.test('text from outside that looks like markup is escaped', async (t) => {
  const forged = JSON.parse('{"markup":"<b>","Symbol(markup)":"<b>","toString":"<b>"}');
  t.throws(() => render(html`<p title="${forged}">`), TypeError);
  t.notMatch(String(tryRender(forged)), /<b>/);
});

function tryRender(value: Content): string | undefined {
  try {
    return render(html`<p>${value}</p>`);
  } catch {
    return undefined;
  }
}

t.test('inside a tag only markup may stand', async (t) => {
  t.equal(render(html`<input${html` value="${'"'}"`}${false}>`), '<input value="&quot;">');
  t.equal(render(html`<input${[html` a="1"`, undefined]}>`), '<input a="1">');
  for (const value of ['onclick=x', '', 7]) t.throws(() => html`<input ${value}>`, TypeError);
  t.throws(() => html`<input ${['onclick=x']}>`, TypeError);
});

t.test('templates that could not be made safe are refused', async (t) => {
  t.throws(() => html`<p title=${'x'}>`, TypeError);
  t.throws(() => html`<p title= ${html`x`}>`, TypeError);
  t.throws(() => html`<p title='${'x'}'>`, TypeError);
});

const ADDRESSES = ['/', '/a?b=c&d', '?a', '#a', 'https://a.example/', 'HTTP://a', 'com.example.app:/cb'];
const UNSAFE = [
  'javascript:alert(1)',
  'JavaScript:alert(1)',
  ' javascript:alert(1)',
  'java\nscript:alert(1)',
  '\u0001javascript:alert(1)',
  'data:text/html,x',
  'vbscript:x',
  'blob:https://a.example/1',
  '//evil.example/',
  '/\\evil.example/',
  '/\t/evil.example/',
  'evil',
  '',
];

t.test('links and forms lead to a path, to http(s), or into an application', async (t) => {
  for (const address of ADDRESSES) {
    t.doesNotThrow(() => html`<a href="${address}">`, address);
    t.doesNotThrow(() => html`<form action="${address}">`, address);
  }
  for (const address of UNSAFE) {
    t.throws(() => html`<a class="a" href="${address}">`, TypeError, JSON.stringify(address));
    t.throws(() => html`<form action="${address}">`, TypeError, JSON.stringify(address));
    t.throws(() => html`<button formaction="${address}">`, TypeError, JSON.stringify(address));
  }
  t.throws(() => html`<a href="${undefined}">`, TypeError);
});
