import { createFormBrowser } from '@gatehouse/testing/form-browser';
import t from 'tap';
import { build, heading } from '../../build.ts';

/** One pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mPk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const built = await build(t);
const { ann, admin: own } = built.people;
const PAGE = `/dashboard/users/${ann.id}`;

t.test('an admin sees the picture of a user, and removes it', async (t) => {
  const { browser: admin } = await built.signedIn('admin');
  t.match((await admin.get(PAGE)).html, /This user has no picture/);
  const { browser: owner } = await built.signedIn('ann');
  const file = new File([PNG], 'ann.png', { type: 'image/png' });
  t.equal((await owner.submit(await owner.get('/account'), { file }, 'multipart/form-data')).status, 200);

  const page = await admin.get(PAGE);
  const [, path = ''] = /<img class="portrait" src="([^"]+)"/.exec(page.html) ?? [];
  t.match(path, /^\/account\/pictures\/[\w-]{22}$/);
  t.equal((await createFormBrowser(built.base).get(path)).status, 200);
  const { browser: editor } = await built.signedIn('editor');
  t.notMatch((await editor.get(PAGE)).html, 'portrait');

  const question = await admin.get(`${PAGE}/picture/remove`);
  t.equal(heading(question), 'Remove the picture of ann?');
  const removed = await admin.confirm(page, '/picture/remove');
  t.match(removed.html, 'The picture is removed.');
  t.notMatch(removed.html, 'portrait');
  t.equal((await createFormBrowser(built.base).get(path)).status, 404);
  t.match((await admin.get(`/dashboard/users/${own.id}`)).html, /Change your own on the page/);
});
