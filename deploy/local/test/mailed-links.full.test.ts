import { readFileSync } from 'node:fs';
import { createFormBrowser } from '@gatehouse/testing/form-browser';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { startGatehouse, temporaryDir } from './gatehouse.ts';

t.test('the log of npm start in a file says where a mail is, and has no link from it', async (t) => {
  const { demo, output } = await startGatehouse(t, temporaryDir(t));
  const browser = createFormBrowser(demo.base_url);
  const form = await browser.get('/account/forgotten-password');
  t.equal((await browser.submit(form, { login: 'demo' })).status, 200);
  const file = () => /"file":"([^"]+-mail_\w+\.txt)"/.exec(output())?.[1];
  await until(async () => file() !== undefined, 10_000);
  const [, token = ''] = /token=([\w-]+)/.exec(readFileSync(file() ?? '', 'utf8')) ?? [];
  t.match(token, /^[\w-]{43}$/, 'the mail has a link');
  t.notOk(output().includes(token));
  t.notMatch(output(), /token=/);
});
