import { existsSync, readFileSync } from 'node:fs';
import { posix, resolve } from 'node:path';
import { SCOPE_MEANINGS } from '@gatehouse/tokens/scopes';
import { html, render } from '@gatehouse/web/html';
import { lexer, type Token, walkTokens } from 'marked';
import t from 'tap';
import { readLibrary } from '../../src/docs/guides/library.ts';
import { renderMarkdown } from '../../src/docs/guides/markdown.ts';
import { highlight } from '../../src/pages/highlight.ts';

const root = resolve(import.meta.dirname, '../../../..');
const library = readLibrary();

const htmlOf = (text: string) => render(renderMarkdown(text).body);

const CASES: [name: string, text: string, expected: string][] = [
  ['text is escaped', 'a < b & "c"', '<p>a &lt; b &amp; &quot;c&quot;</p>'],
  ['markup is text', 'x <img src=x onerror=alert(1)>', '<p>x &lt;img src=x onerror=alert(1)&gt;</p>'],
  ['a block of markup, too', '<script>alert(1)</script>', '<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>'],
  ['a comment is not shown', '<!-- a -->\n\nb', '<p>b</p>'],
  ['no address that runs', '[x](javascript:alert(1))', '<p>x</p>'],
  ['no address of another host by its path', '[x](//evil.example)', '<p>x</p>'],
  ['links', '[x](https://a.example/?b&c)', '<p><a href="https://a.example/?b&amp;c">x</a></p>'],
  ['code', '`a<b`', '<p><code>a&lt;b</code></p>'],
  ['emphasis', '**a** *b*', '<p><strong>a</strong> <em>b</em></p>'],
  ['lists', '- a\n- b `c`', '<ul><li>a</li><li>b <code>c</code></li></ul>'],
  ['lists that begin later', '3. a', '<ol start="3"><li>a</li></ol>'],
  ['pictures are their text', '![a](b.png)', '<p>a</p>'],
];

t.test('commands go to the deployment whose pages they are on', async (t) => {
  const [guide] = readLibrary('https://id.example.org').filter(({ href }) => href.endsWith('/build-on-it'));
  const text = guide === undefined ? '' : render(guide.body);
  t.match(text, ':-https://id.example.org}');
  t.notMatch(text, 'localhost:3000');
});

t.test('the guide says what each scope allows in the words of the API reference and the forms', async (t) => {
  const guide = readFileSync(resolve(root, 'docs/guides/scopes.md'), 'utf8');
  for (const [scope, meaning] of Object.entries(SCOPE_MEANINGS)) {
    t.ok(guide.includes(`| \`${scope}\` | ${meaning} |`), scope);
  }
});

t.test('Markdown', async (t) => {
  for (const [name, text, expected] of CASES) t.equal(htmlOf(text), expected, name);
  const table = htmlOf('| a | |\n|---|---|\n| `x\\|y` | <b> |');
  t.match(table, '<div class="table" role="region" tabindex="0" aria-label="Table 1: a, ">');
  t.match(table, '<th scope="col">a</th><td></td>');
  t.match(
    table,
    '<td data-label="a"><div><code>x|y</code></div></td><td data-label=""><div>&lt;b&gt;</div></td>',
  );
  const long = htmlOf(
    '| a | b |\n|---|---|\n| `LONG_NAME_HERE` | `LONG_NAME_HERE` https://id.example.org/<x |',
  );
  t.match(long, '<td data-label="a"><div><code>LONG_<wbr>NAME_<wbr>HERE</code></div></td>');
  t.match(htmlOf('| a | b |\n|---|---|\n| | `/api/v1/items` |'), '<code>/api/<wbr>v1/<wbr>items</code>');
  t.match(
    long,
    '<td data-label="b"><div><code>LONG_<wbr>NAME_<wbr>HERE</code> <a href="https://id.example.org/">https://<wbr>id.<wbr>example.<wbr>org/</a>&lt;x</div></td>',
  );
});

t.test('headings have the anchors of GitHub, each once', async (t) => {
  const { title, headings, body } = renderMarkdown(
    '# T `t`\n## A & `b`, c!\n### A & b, c\n## Ünï-code_x\n#### x',
  );
  t.equal(title, 'T t');
  t.same(headings, [
    { level: 2, id: 'a--b-c', text: 'A & b, c!' },
    { level: 3, id: 'a--b-c-1', text: 'A & b, c' },
    { level: 2, id: 'ünï-code_x', text: 'Ünï-code_x' },
  ]);
  t.match(
    render(body),
    '<h2 id="a--b-c"><a class="anchor" href="#a--b-c">A &amp; <code>b</code>, c!</a></h2>',
  );
});

t.test('marking code up changes none of it', async (t) => {
  const textOf = (code: string, language: string) =>
    render(html`${highlight(code, language)}`).replaceAll(/<\/?span[^>]*>/g, '');
  for (const { file } of library) {
    const text = readFileSync(resolve(root, file), 'utf8');
    for (const token of lexer(text)) {
      if (token.type !== 'code') continue;
      t.equal(textOf(token.text, token.lang ?? ''), render(html`${String(token.text)}`), file);
    }
  }
  t.match(
    render(html`${highlight('{"a": "b", "c": 1} ', 'json')}`),
    '<span class="code-name">&quot;a&quot;</span>',
  );
  t.match(render(html`${highlight('curl -s "$X" # y', 'sh')}`), '<span class="code-comment"># y</span>');
});

t.test('every guide has a title and a page, in the order of the list', async (t) => {
  t.same(
    library.filter(({ title }) => title === '' || title.endsWith('.md')),
    [],
  );
  t.equal(new Set(library.map(({ href }) => href)).size, library.length, 'no two have the same page');
  const hrefs = library.map(({ href }) => href);
  const expected = [
    '/docs/guides/deploy-with-docker',
    '/docs/guides/users-api',
    '/docs/standards',
    '/docs/adr/0001-no-build-step',
  ];
  t.same(
    hrefs.filter((href) => expected.includes(href)),
    expected,
  );
});

t.test('no link inside the documentation is dead, nor is an anchor', async (t) => {
  const pages = new Map(library.map((guide) => [guide.href, guide]));
  const anchors = new Map(
    library.map(({ href, body }) => [
      href,
      new Set([...render(body).matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)),
    ]),
  );
  /** Served by the dashboard or another service, and no guides. */
  const isOther = (path: string) => !/^\/docs\/(?:guides|adr)\//.test(path) && !pages.has(path);
  let count = 0;
  for (const { href, body, file } of library) {
    for (const [, link = ''] of render(body).matchAll(/<a (?:class="[^"]*" )?href="([^"]+)"/g)) {
      if (/^https?:/.test(link)) continue;
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? href : path;
      if (isOther(target)) continue;
      count += 1;
      t.ok(pages.has(target), `${file}: ${link}`);
      if (anchor !== undefined) t.ok(anchors.get(target)?.has(anchor), `${file}: ${link}`);
    }
  }
  t.ok(count > 10, `${count} links`);
});

t.test('a link to a file leads to its page if it has one, and else the file is there', async (t) => {
  const hrefs = new Map(library.map(({ file, href }) => [file, href]));
  let count = 0;
  for (const { file, body } of library) {
    const markup = render(body);
    const tokens: Token[] = [];
    walkTokens(lexer(readFileSync(resolve(root, file), 'utf8')), (token) => void tokens.push(token));
    for (const token of tokens) {
      if (token.type !== 'link' || /^(?:[a-z]+:|[/#])/.test(token.href)) continue;
      const [path = '', anchor] = token.href.split('#');
      const target = posix.join(posix.dirname(file), path);
      t.ok(existsSync(resolve(root, target)), `${file}: ${token.href}`);
      const page = hrefs.get(target);
      if (page === undefined) continue;
      count += 1;
      t.match(markup, `href="${page}${anchor === undefined ? '' : `#${anchor}`}"`, `${file}: ${token.href}`);
    }
  }
  t.ok(count > 10, `${count} links from page to page`);
});
