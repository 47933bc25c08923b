import { createFormBrowser } from '@gatehouse/testing/form-browser';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { readHeader } from '../../../../src/features/account/picture/picture.ts';
import { build } from '../../../build.ts';
import { heading, noticeOf, send, signedIn } from '../../../pages.ts';
import { tokensFor } from '../../../tokens.ts';
import { JPEG, png, upload, withExif } from './sample-pictures.ts';

const built = await build(t, { checkResponses: true });
const FORM = 'multipart/form-data';
const REMOVE = 'id="remove-picture"';
const admin = await built.login('admin');
const person = async (username: string) => {
  const id = await built.createPerson(username);
  return { id, visitor: await signedIn(built, username) };
};
const urlOf = async (id: string, token = admin) =>
  (await built.call('GET', `/api/v1/pictures?user_id=${id}`, token)).body.url as string | null;
const get = (url: string | null) => fetch(url ?? 'about:blank');
const problemOf = ({ html }: { html: string }) => /<p class="field-problem"[^>]*>(.*?)<\/p>/.exec(html)?.[1];

t.test('a person uploads a picture, which applications get as a claim', async (t) => {
  const { id, visitor } = await person('dora');
  t.equal(await urlOf(id), null);
  const saved = await visitor.submit(await visitor.get('/account'), upload(withExif(JPEG)), FORM);
  t.match([saved.status, saved.url.pathname, noticeOf(saved)], [200, '/account', 'Your picture is saved.']);
  const url = await urlOf(id);
  t.match(url, new RegExp(`^${built.base}/account/pictures/[\\w-]{22}$`));
  t.match(saved.html, `src="${new URL(url ?? '').pathname}"`);
  const { access_token } = await tokensFor(built, {
    ...{ browser: visitor, username: 'dora' },
    more: { scope: 'openid profile' },
  });
  t.equal((await built.call('GET', '/userinfo', access_token)).body.picture, url);

  const response = await get(url);
  t.equal(response.status, 200);
  t.match(Object.fromEntries(response.headers), {
    'content-type': 'image/webp',
    'x-content-type-options': 'nosniff',
    'cache-control': 'public, max-age=31536000, immutable',
    'content-security-policy': "default-src 'none'; sandbox",
    'cross-origin-resource-policy': 'cross-origin',
  });
  t.equal(response.headers.get('set-cookie'), null);
  const bytes = Buffer.from(await response.arrayBuffer());
  t.match(readHeader(bytes), { type: 'webp', width: 8, height: 16 });
  t.notOk(bytes.includes('GPS'));
  const log = await built.call('GET', '/api/v1/audit?filter[action]=account.changed', admin);
  t.match(Object(log.body.data)[0], { subject: id, actor: id, details: { fields: ['picture'] } });
});

t.test('another picture takes its place, and a removed one is gone', async (t) => {
  const { id, visitor } = await person('rob');
  const first = await visitor.submit(await visitor.get('/account/picture'), upload(png(20, 20)), FORM);
  const before = await urlOf(id);
  const second = await visitor.submit(first, upload(png(30, 30)), FORM);
  const after = await urlOf(id);
  t.not(after, before);
  t.strictSame([(await get(before)).status, (await get(after)).status], [404, 200]);
  const removed = await visitor.submit(second, {}, REMOVE);
  t.equal(noticeOf(removed), 'Your picture is removed.');
  t.notMatch(removed.html, /<img|remove-picture/);
  t.equal(await urlOf(id), null);
  t.equal((await get(after)).status, 404);
  t.equal((await get(`${built.base}/account/pictures/${'A'.repeat(22)}`)).status, 404);
});

t.test('a file that cannot be taken is refused with a sentence, and the picture stays', async (t) => {
  const { id, visitor } = await person('sue');
  const page = await visitor.submit(await visitor.get('/account'), upload(png(20, 20)), FORM);
  const url = await urlOf(id);
  const image = 'Choose a PNG, JPEG or WebP picture that is not animated.';
  for (const [file, status, sentence] of [
    ['', 400, image],
    ['<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>', 400, image],
    ['GIF89a/*<script>*/', 400, image],
    ['<!doctype html><script>alert(1)</script>', 400, image],
    [png(1, 1, { says: [30_000, 30_000] }), 400, 'Choose a picture of at most 8 megapixels.'],
    [JPEG.subarray(0, 180), 400, 'The picture cannot be read. Choose another one.'],
    ['a'.repeat(257 * 1024), 413, 'The picture has more than 256 kB. Choose a smaller one.'],
    ['a'.repeat(1024 * 1024), 413, 'The picture has more than 256 kB. Choose a smaller one.'],
  ] as const) {
    const refused = await visitor.submit(page, upload(file), FORM);
    t.strictSame([refused.status, heading(refused), problemOf(refused)], [status, 'Profile', sentence]);
    t.equal(await urlOf(id), url);
  }
});

t.test('nobody else changes a picture, and no form of another session', async (t) => {
  const { id, visitor } = await person('ida');
  const page = await visitor.submit(await visitor.get('/account'), upload(png(20, 20)), FORM);
  const url = await urlOf(id);
  const mallory = await person('mal');
  for (const browser of [mallory.visitor, built.browser()]) {
    t.equal((await browser.submit(page, upload(png(9, 9)), FORM)).status, 403);
    t.equal((await browser.submit(page, {}, REMOVE)).status, 403);
  }
  t.equal((await visitor.submit(page, { ...upload(png(9, 9)), csrf: 'x' }, FORM)).status, 403);
  const foreign = createFormBrowser(built.base, {
    origin: 'https://evil.example',
    cookie: [...visitor.cookies('/account/picture')].map(([name, value]) => `${name}=${value}`).join('; '),
  });
  t.equal((await foreign.submit(page, upload(png(9, 9)), FORM)).status, 403);
  const urlencoded = await send(built, 'POST', '/account/picture', {
    browser: visitor,
    fields: { csrf: 'x' },
  });
  t.equal(urlencoded.status, 415);
  const token = await built.login('mal');
  for (const method of ['GET', 'DELETE']) {
    t.equal((await built.call(method, `/api/v1/pictures?user_id=${id}`, token)).status, 403);
  }
  t.equal(await urlOf(id), url);
  t.equal(await urlOf(mallory.id), null);
});

t.test('an admin removes a picture, and people their own at the API', async (t) => {
  const { id, visitor } = await person('pat');
  for (const [token, path, actor] of [
    [admin, `/api/v1/pictures?user_id=${id}`, built.people.admin.id],
    [await built.login('pat'), '/api/v1/pictures', id],
  ] as const) {
    await visitor.submit(await visitor.get('/account'), upload(png(20, 20)), FORM);
    const url = await urlOf(id);
    t.equal((await get(url)).status, 200);
    t.equal((await built.call('DELETE', path, token)).status, 204);
    t.equal(await urlOf(id), null);
    t.equal((await get(url)).status, 404);
    const log = await built.call('GET', '/api/v1/audit?filter[action]=account.changed', admin);
    t.match(Object(log.body.data)[0], { subject: id, actor, details: { fields: ['picture'] } });
    t.equal((await built.call('DELETE', path, token)).status, 204, 'again');
  }
  t.equal((await built.call('DELETE', '/api/v1/pictures?user_id=usr_none', admin)).status, 404);
});

t.test('the export has the picture, which is deleted with the account', async (t) => {
  const { id, visitor } = await person('del');
  await visitor.submit(await visitor.get('/account'), upload(png(20, 20)), FORM);
  const url = await urlOf(id);
  const exported = await visitor.submit(await visitor.get('/account/export'), {}, '/account/export');
  const { picture, profile } = JSON.parse(exported.html);
  t.equal(profile.picture, url);
  const served = Buffer.from(await (await get(url)).arrayBuffer()).toString('base64');
  t.match(picture, [{ content_type: 'image/webp', uploaded_at: /^\d{4}-/, data: served }]);
  const service = await built.serviceToken('users');
  await built.call('POST', '/internal/identity/erasures', service, { user_id: id });
  await until(async () => (await get(url)).status === 404, 5000);
});
