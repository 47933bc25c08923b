import type { FormBrowser, Page } from '@gatehouse/testing/form-browser';
import t from 'tap';
import { build, PASSWORD } from '../build.ts';

const built = await build(t);
const { browser: editor } = await built.signedIn('editor');
const { browser: admin } = await built.signedIn('admin');
type Row = Record<string, unknown> & { id: string };

const textOf = ({ html }: Page) =>
  html
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"');
const csv = (content: string | Buffer) => new File([content], 'rows.csv', { type: 'text/csv' });

async function check(browser: FormBrowser, name: string, content: string | Buffer): Promise<Page> {
  const form = await browser.get(`/dashboard/${name}/import`);
  return browser.submit(form, { file: csv(content) }, 'name="file"');
}
const confirm = (browser: FormBrowser, page: Page) => browser.submit(page, {}, '/run"');
const download = async (browser: FormBrowser) => (await browser.get('/dashboard/products/export.csv')).html;
async function products(): Promise<Row[]> {
  return (await built.call<{ data: Row[] }>('GET', '/v2/products?cursor=&limit=100')).body.data;
}

t.test('products are checked, created, exported, and changed by what was exported', async (t) => {
  const link = (await editor.get('/dashboard/products')).html;
  t.match(link, /href="\/dashboard\/products\/import">Import CSV/);
  const file = [
    'Name,PRICE,currency,sku,stock,description',
    '=1+1,12.5,EUR,TEA-1,3,"two\r\nlines; ""quoted"""',
    `'=1,1500,JPY,,,`,
    '<b x-marked>,0.125,KWD,tea-2,0,',
  ].join('\r\n');
  const checked = await check(editor, 'products', file);
  t.equal(checked.status, 200);
  t.match(
    textOf(checked),
    /Nothing has been changed yet\. To be created 3 To be changed 0 Unchanged 0 With errors 0/,
  );
  t.match(checked.html, '&lt;b x-marked&gt;', 'a name does not become markup');
  t.notMatch(checked.html, '<b x-marked>');
  t.equal((await products()).length, 0, 'nothing is written by the check');

  const done = await confirm(editor, checked);
  t.match(textOf(done), /The import is complete\. Created 3 Changed 0 Unchanged 0 Failed 0/);
  const made = await products();
  t.same(
    new Set(made.map(({ name }) => name)),
    new Set(['=1+1', '=1', '<b x-marked>']),
    'an apostrophe before a formula is that of an export',
  );
  t.match(
    made.find(({ name }) => name === '=1+1'),
    {
      ...{ price: 12.5, sku: 'TEA-1', stock: 3, status: 'active', category: null },
      description: 'two\r\nlines; "quoted"',
    },
  );
  const again = await confirm(editor, checked);
  t.match(textOf(again), /Created 3 Changed 0 Unchanged 0 Failed 0/);
  t.same(await products(), made, 'a confirmation that is sent again creates nothing twice');

  const exported = await download(editor);
  const same = await check(editor, 'products', exported);
  t.match(textOf(same), /To be created 0 To be changed 0 Unchanged 3 With errors 0/);
  t.notMatch(same.html, '/run"', 'there is nothing to import');
  const edited = await check(editor, 'products', exported.replace(',12.5,EUR,3,', ',13,USD,3,'));
  t.match(textOf(edited), /To be changed 1 Unchanged 2 .*Price: 12\.5 → 13 Currency: EUR → USD/);
  t.match(textOf(await confirm(editor, edited)), /Created 0 Changed 1 Unchanged 2 Failed 0/);
  const after = await products();
  t.match(
    after.find(({ name }) => name === '=1+1'),
    { price: 13, currency: 'USD', sku: 'TEA-1' },
  );
  t.same(
    after.filter(({ name }) => name !== '=1+1'),
    made.filter(({ name }) => name !== '=1+1'),
  );
});

t.test('what a German spreadsheet writes is read', async (t) => {
  const file = '\ufeffname;price;currency;status\r\n"Kräuter; Tee";12,50;EUR;inactive\r\n;;;\r\n\r\n';
  const done = await confirm(editor, await check(editor, 'products', file));
  t.match(textOf(done), 'Created 1');
  t.match(
    (await products()).find(({ name }) => name === 'Kräuter; Tee'),
    { price: 12.5, status: 'inactive' },
  );
});

t.test('rows with errors are named by their lines, and stop no others', async (t) => {
  const [first] = await products();
  const file = [
    'id,name,price,currency,sku,stock,status',
    ',"Two',
    'lines",1,EUR,a1,,',
    ',No price,,EUR,,,',
    ',Words,cheap,EUR,,,',
    ',Decimals,1.234,EUR,,,',
    ',Currency,1,XXZ,,,',
    ',Same sku,1,EUR,A1,,',
    ',Taken sku,1,EUR,tea-2,,',
    ',Status,1,EUR,,,gone',
    ',Stock,1,EUR,,1.5,',
    ',Short,1',
    'prd_nothing,Unknown,1,EUR,,,',
    `${first?.id},,1,EUR,,0,active`,
    `${first?.id},Twice,1,EUR,,0,active`,
    ',Good,1,EUR,,,',
  ].join('\n');
  const checked = await check(editor, 'products', file);
  const text = textOf(checked);
  t.match(text, /12 rows have errors .* To be created 2 To be changed 0 Unchanged 0 With errors 12/);
  for (const problem of [
    'No price 4 The price is required.',
    'Words 5 The price must be a number, such as 12.50.',
    'Decimals 6 The price must be a number of EUR from 0, with at most 2 decimals.',
    'Currency 7 The currency must be the ISO 4217 code of a currency, such as USD.',
    'Same sku 8 The SKU is the same as on line 2.',
    'Taken sku 9 The SKU is already in use.',
    'Status 10 The status must be one of active, inactive.',
    'Stock 11 The stock must be a whole number.',
    'Short 12 The row has 3 cells instead of 7.',
    'Unknown 13 The ID does not exist.',
    '14 The name is required.',
    'Twice 15 The ID is the same as on line 14.',
  ]) {
    t.match(text, problem);
  }
  const before = (await products()).length;
  const done = textOf(await confirm(editor, checked));
  t.match(done, '12 rows were not imported');
  t.match(done, 'Created 2');
  t.equal((await products()).length, before + 2);
});

t.test('what the API refuses is the error of its row', async (t) => {
  const checked = await check(
    editor,
    'products',
    'name,price,currency,sku\nA,1,EUR,late\n\u200b,1,EUR,\nB,1,EUR,',
  );
  t.match(textOf(checked), '3 The name must consist of visible characters.', 'a rule is known before');
  await built.call('POST', '/v2/products', 'admin', {
    name: 'Before',
    price: 1,
    currency: 'EUR',
    sku: 'LATE',
  });
  const done = textOf(await confirm(editor, checked));
  t.match(done, /Created 1 .*Failed 2/);
  t.match(done, /A 2 [^.]*sku/i);
  t.match(done, /3 The name must consist of visible characters\./);
});

t.test('files that cannot be read as a whole say why, and keep the form', async (t) => {
  const rows = (count: number) => `name,price,currency\n${'x,1,EUR\n'.repeat(count)}`;
  const before = (await products()).length;
  for (const [what, content, message] of [
    ['empty', '', 'Choose a file with CSV in it.'],
    ['blank', '\n \n', 'The file is empty.'],
    [
      'no header',
      'Tea,12.5,EUR\n',
      'The first line must name the columns. These are not known: “tea”, “12.5”, “eur”. Columns can be id, name, category,',
    ],
    ['an unknown column', 'name,price,currency,colour\nx,1,EUR,red', 'These are not known: “colour”.'],
    ['a column twice', 'name,price,currency,Name\nx,1,EUR,y', 'The column name is there twice.'],
    ['no price', 'name,stock\nx,1', 'The file lacks these columns: price, currency.'],
    ['a header alone', 'name,price,currency\n', 'The file has no rows below'],
    ['too many rows', rows(50_001), 'The file has more than 50,000 rows.'],
    [
      'too many bytes',
      `name,price,currency\n${'x'.repeat(10 * 1024 ** 2)},1,EUR`,
      'The file is larger than 10 MiB.',
    ],
    ['binary', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff]), 'The file is not text in UTF-8.'],
    ['UTF-16', Buffer.from('name,price', 'utf16le'), 'NUL character'],
    [
      'an open quotation mark',
      'name,price,currency\n"x,1,EUR',
      'A quotation mark is missing or misplaced on line 2',
    ],
  ] as const) {
    const page = await check(editor, 'products', content);
    t.equal(page.status, 400, what);
    t.match(textOf(page), message, what);
    t.match(page.html, 'name="file"', what);
  }
  const huge = await check(editor, 'products', 'x'.repeat(10_600_000));
  t.equal(huge.status, 413);
  t.match(huge.html, 'The file is larger than 10 MiB.');
  t.equal((await products()).length, before);
});

t.test('no file is looked at without the token of the form', async (t) => {
  const form = await editor.get('/dashboard/products/import');
  const fields = { csrf: 'wrong', file: csv('name,price,currency\nx,1,EUR') };
  const refused = await editor.submit(form, fields, 'name="file"');
  t.equal(refused.status, 403);
  t.match(refused.html, 'Your change was not saved');
  const checked = await check(editor, 'products', 'name,price,currency\nx,1,EUR');
  const before = (await products()).length;
  t.equal((await editor.submit(checked, { csrf: 'wrong' }, '/run"')).status, 403);
  t.equal((await products()).length, before);
  const cookie = [...editor.cookies('/dashboard')].map((pair) => pair.join('=')).join('; ');
  const post = async (type: string, body: string) =>
    (
      await fetch(`${built.base}/dashboard/products/import`, {
        method: 'POST',
        headers: { cookie, 'content-type': type },
        body,
      })
    ).status;
  t.equal(await post('application/x-www-form-urlencoded', 'csrf=x'), 415);
  t.equal(await post('multipart/form-data', 'x'), 400, 'without a boundary');
  t.equal(
    await post('multipart/form-data; boundary=a', '--a\r\nContent-Disposition: form-data; name="x"\r\n\r\n'),
    400,
  );
  const part = '--a\r\nContent-Disposition: form-data; name="x"\r\n\r\n1\r\n';
  t.equal(await post('multipart/form-data; boundary=a', `${part.repeat(30)}--a--`), 400, 'too many parts');
});

t.test('importing is for those who may create', async (t) => {
  const { browser: user } = await built.signedIn('ann');
  t.notMatch((await user.get('/dashboard/products')).html, 'Import CSV');
  for (const [browser, name] of [
    [user, 'products'],
    [user, 'users'],
    [editor, 'users'],
  ] as const) {
    t.equal((await browser.get(`/dashboard/${name}/import`)).status, 403);
    const form = await (browser === user ? admin : editor).get('/dashboard/products/import');
    const own = { ...(await browser.get('/dashboard')), url: form.url };
    const token = /name="csrf" value="([^"]+)"/.exec(own.html)?.[1] ?? '';
    const target = { ...form, html: form.html.replaceAll('/products/import', `/${name}/import`) };
    const refused = await browser.submit(
      target,
      { csrf: token, file: csv('username,email\nx,y') },
      'name="file"',
    );
    t.equal(refused.status, 403, name);
    t.match(refused.html, 'You are not permitted to import');
  }
  t.notMatch((await editor.get('/dashboard/users')).html, 'Import CSV');
});

t.test('accounts are created with passwords that nobody knows', async (t) => {
  t.match((await admin.get('/dashboard/users')).html, '/dashboard/users/import');
  const file =
    'username,email,role\nzoe,zoe@example.org,editor\nmax,max@example.org,\nZOE,other@example.org,\nann,new@example.org,user\nal,al,user\nbo1,bo@example.org,king';
  const checked = await check(admin, 'users', file);
  const text = textOf(checked);
  t.match(text, /To be created 2 With errors 4/);
  t.match(text, 'ZOE 4 The username is the same as on line 2.');
  t.match(text, 'ann 5 The username is already in use.');
  t.match(text, /al 6 The username must have 3 to 64 .* The email address must be a valid/);
  t.match(text, 'bo1 7 The role must be one of user, editor, admin.');
  t.match(text, 'Nobody knows the passwords');
  const done = await confirm(admin, checked);
  t.match(textOf(done), /Created 2 Failed 4/);
  t.match(textOf(await confirm(admin, checked)), /Created 2 Failed 4/, 'sent again, it is the same');
  const found = await built.call<Row[]>('GET', '/kb/api/v1/users?limit=100');
  t.match(
    found.body.find(({ username }) => username === 'zoe'),
    { email: 'zoe@example.org', role: 'editor' },
  );
  t.match(
    found.body.find(({ username }) => username === 'max'),
    { role: 'user' },
  );
  t.equal(found.body.length, 5);
  const login = await fetch(`${built.base}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'zoe', password: PASSWORD }),
  });
  t.equal(login.status, 401);
});

t.test('what was changed after the check is not overwritten', async (t) => {
  const make = async (name: string) => {
    const product = { name, price: 10, currency: 'EUR', stock: 5, status: 'active' };
    return (await built.call<Row>('POST', '/v2/products', 'editor', product)).body.id;
  };
  const [sold, renamed, repriced] = [await make('sold'), await make('old name'), await make('repriced')];
  const rows = [`${sold},sold,10,EUR,5`, `${renamed},new name,10,EUR,5`, `${repriced},repriced,11,EUR,5`];
  const checked = await check(editor, 'products', `id,name,price,currency,stock\n${rows.join('\n')}`);
  t.match(textOf(checked), /To be created 0 To be changed 2 Unchanged 1/);
  const items = [{ product_id: sold, quantity: 4 }];
  t.equal((await built.call('POST', '/v2/orders', 'ann', { items, currency: 'EUR' })).status, 201);
  const price = { price: 99, currency: 'EUR' };
  t.equal((await built.call('PUT', `/v2/products/${repriced}`, 'admin', price)).status, 200);
  const done = await confirm(editor, checked);
  t.match(textOf(done), /Created 0 Changed 1 Unchanged 0 Failed 2/);
  t.match(textOf(done), /It was changed after the file was checked/);
  const now = async (id: string) => (await built.call<Row>('GET', `/v2/products/${id}`)).body;
  t.match(await now(sold), { stock: 1, price: 10 });
  t.match(await now(renamed), { name: 'new name' });
  t.match(await now(repriced), { price: 99 });
  t.match(
    textOf(await confirm(editor, checked)),
    /Changed 1 Unchanged 0 Failed 2/,
    'nor when it is sent again',
  );
});
