import { ICON } from '@gatehouse/web/document';
import t from 'tap';
import { stylesheet } from '../../src/pages/stylesheet.ts';
import { everyPage } from './every-page.ts';
import { type Element, formOf, isIn, parseMarkup } from './markup.ts';

const HOSTILE = `"'><script>alert(1)</script><img src=x onerror=alert(1)>&amp;</title></p>\`$\{x}<!--]]>`;
const HEADING = /^h[1-6]$/;
const pages = everyPage((text) => text);

/** What the page is made of: each element with the names of its attributes. */
function structure(elements: readonly Element[]): string[] {
  return elements.map(({ name, attributes }) => [name, ...attributes.keys()].join(' '));
}

t.test('hostile values change no element and no attribute of any page', async (t) => {
  const hostile = everyPage((text) => `${text}${HOSTILE}`);
  for (const [name, page] of pages) {
    const elements = parseMarkup(hostile.get(name) ?? '');
    t.strictSame(structure(elements), structure(parseMarkup(page)), name);
  }
});

t.test('hostile values are said as they are', async (t) => {
  const hostile = everyPage((text) => `${text}${HOSTILE}`);
  for (const [name, text] of [
    ['consent', `Lighthouse${HOSTILE}`],
    ['sign in, prefilled', `lighthouse.example${HOSTILE}`],
    ['profile', `ada${HOSTILE}`],
    ['sessions', `::1${HOSTILE}`],
    ['error, generic', `req_1${HOSTILE}`],
  ] as const) {
    const [root] = parseMarkup(hostile.get(name) ?? '');
    t.ok(root?.text.includes(text), name);
  }
});

for (const [name, page] of pages) {
  t.test(name, async (t) => {
    const elements = parseMarkup(page);
    const named = (tag: string) => elements.filter((it) => it.name === tag);
    const ids = elements.flatMap(({ attributes }) => attributes.get('id') ?? []);

    t.ok(page.startsWith('<!doctype html>\n<html lang="en">'), 'a document in English');
    t.match(named('title')[0]?.text, /^\S.* – Gatehouse$/, 'a title');
    t.equal(named('h1').length, 1, 'one h1');
    t.equal(named('main').length, 1, 'one main');
    t.equal(named('header').length, 1, 'one header');
    t.ok(
      named('h1').every((it) => isIn(it, 'main')),
      'the h1 is in main',
    );
    t.equal(new Set(ids).size, ids.length, 'ids are unique');
    t.ok(elements.filter(({ attributes }) => attributes.has('autofocus')).length <= 1, 'one focus at most');

    const levels = elements.filter((it) => HEADING.test(it.name)).map((it) => Number(it.name.slice(1)));
    t.notOk(
      levels.some((level, i) => level > (levels[i - 1] ?? 0) + 1),
      'no level of heading is left out',
    );

    for (const { name: tag, attributes } of elements) {
      t.notMatch(tag, /^(?:style|iframe|object|embed|base)$/);
      if (tag === 'img')
        t.match(
          attributes.get('src'),
          /^(?:data:image\/png;base64,|\/account\/pictures\/)/,
          'only pictures in the page, and ours',
        );
      if (tag === 'script') t.match(attributes.get('src'), /^\/account\//, 'only scripts of ours');
      for (const key of attributes.keys()) t.notMatch(key, /^(?:style|srcdoc|on.*)$/);
      for (const key of ['aria-describedby', 'aria-labelledby', 'for', 'form']) {
        for (const id of attributes.get(key)?.split(' ') ?? []) t.ok(ids.includes(id), `${key} names ${id}`);
      }
      if (attributes.get('href')?.startsWith('#')) t.ok(ids.includes(attributes.get('href')?.slice(1) ?? ''));
    }
    t.strictSame(
      named('link').map(({ attributes }) => attributes.get('href')),
      [`data:image/svg+xml,${ICON}`, stylesheet.path],
      'one resource from outside: the stylesheet; the icon is in the page, as browsers would ask for one',
    );

    for (const it of named('input').filter((it) => it.attributes.get('type') !== 'hidden')) {
      t.ok(it.attributes.get('autocomplete'), 'every field says what it is for');
      t.notOk(it.attributes.has('maxlength'), 'what is pasted is never cut off');
      t.ok(formOf(it, elements), 'every field is in a form');
      if (it.attributes.get('type') === 'password')
        t.notOk(it.attributes.has('value'), 'no password comes back');
      if (it.attributes.has('hidden')) continue;
      const labels = named('label').filter(
        (label) => label.attributes.get('for') === it.attributes.get('id'),
      );
      t.match(labels[0]?.text, /\S/, 'every field has a label');
      t.equal(labels.length, 1);
    }
    for (const form of named('form')) {
      const csrf = elements.filter(
        (it) => it.attributes.get('name') === 'csrf' && formOf(it, elements) === form,
      );
      t.equal(form.attributes.get('method'), 'post');
      t.strictSame(
        csrf.map((it) => it.attributes.get('value')),
        ['csrf'],
        'one token in every form',
      );
    }
    for (const button of named('button')) {
      t.match(button.text, /\S/, 'every button has a name');
      t.ok(formOf(button, elements), 'every button belongs to a form');
    }
  });
}

t.test('a page about a mistake says so in its title, in an alert and at the field', async (t) => {
  for (const [name, page] of pages) {
    const failed = page.includes('role="alert"');
    t.equal(page.includes('<title>Error: '), failed, name);
    t.ok(failed || !page.includes('aria-invalid'), name);
  }
  const elements = parseMarkup(pages.get('create account, problems') ?? '');
  const [input] = elements.filter(({ attributes }) => attributes.get('id') === 'email');
  t.equal(input?.attributes.get('aria-invalid'), 'true');
  t.equal(input?.attributes.get('aria-describedby'), 'email-problem email-hint');
  t.equal(
    elements.find(({ attributes }) => attributes.get('id') === 'email-problem')?.text,
    'The email address about email.',
  );
  t.ok(elements.find(({ attributes }) => attributes.has('autofocus'))?.attributes.get('id') === 'username');
});

t.test(
  'sign-in asks for a username and a password, and offers other methods in forms of their own',
  async (t) => {
    for (const [name, page] of pages) {
      if (!name.startsWith('sign in')) continue;
      const elements = parseMarkup(page);
      const fields = elements.filter((it) => it.name === 'input' && it.attributes.get('type') !== 'hidden');
      t.strictSame(
        fields.map(({ attributes }) => attributes.get('name')),
        ['username', 'password'],
        name,
      );
      t.equal(elements.filter((it) => it.name === 'form').length, name === 'sign in' ? 1 : 2, name);
      const [first, second, third] = elements.filter((it) => it.name === 'button');
      t.notOk(first?.attributes.has('name'), 'the first button signs in');
      t.equal(second?.attributes.get('name'), name === 'sign in' ? undefined : 'cancel');
      t.ok(!second || second.attributes.has('formnovalidate'), 'empty fields do not keep one from leaving');
      t.notOk(third && formOf(third, elements) === formOf(first as Element, elements));
    }
  },
);

t.test('the focus is in the first field that is still to be filled in', async (t) => {
  const focus = (name: string) =>
    parseMarkup(pages.get(name) ?? '')
      .find(({ attributes }) => attributes.has('autofocus'))
      ?.attributes.get('id');
  t.equal(focus('sign in'), 'username');
  t.equal(focus('sign in, prefilled'), 'password');
  t.equal(focus('sign in, wrong_password'), 'password');
  t.equal(focus('sign in again'), 'password');
});

t.test('consent: the first button allows, the second refuses', async (t) => {
  for (const name of ['consent', 'consent, more']) {
    const buttons = parseMarkup(pages.get(name) ?? '').filter((it) => it.name === 'button');
    const sent = buttons.map(({ attributes }) => [attributes.get('name'), attributes.get('value')]);
    t.strictSame(sent, [
      ['decision', 'allow'],
      ['decision', 'deny'],
    ]);
  }
  t.notMatch(pages.get('consent'), /class="new"/);
  t.match(pages.get('consent, more'), /change their roles and passwords\. <strong class="new">New<\/strong>/);
});

t.test('signing out: the first button does, the second does not', async (t) => {
  const buttons = parseMarkup(pages.get('sign out') ?? '').filter((it) => it.name === 'button');
  t.strictSame(
    buttons.map(({ attributes }) => attributes.get('name')),
    ['logout', undefined],
  );
});
