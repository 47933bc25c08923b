// Runs first, as it takes more than a minute.
import { readFileSync } from 'node:fs';
import { createFormBrowser, type FormBrowser } from '@gatehouse/testing/form-browser';
import { freePort, spawnService } from '@gatehouse/testing/processes';
import { atScale, repetitions } from '@gatehouse/testing/repetitions';
import t from 'tap';
import { build, PASSWORD, textOf } from '../build.ts';
import { openImports, pageWith, upload } from './imports.ts';

const MAIN = new URL('../../src/service.ts', import.meta.url).pathname;
const ROWS = atScale(50_000);
/** For a check and an import of so many rows; accounts take some 5 ms each. */
const LIMIT_MS = 60_000 + ROWS * 40;
const KILLS = 2;
/** The limit of a container (deploy/kubernetes/base), in MB. */
const MAX_MB = 512;

const built = await build(t);
const imports = await openImports(t, built);
const headersOf = (browser: FormBrowser) => ({
  'x-forwarded-proto': 'https',
  cookie: [...browser.cookies('/dashboard')].map((pair) => pair.join('=')).join('; '),
});
const headers = headersOf((await built.signedIn('admin')).browser);

/** The dashboard as a process of its own, beside the one of build(), which may take its imports over. */
async function startDashboard() {
  const port = String(await freePort());
  const key = built.config.masterKeys[0].toString('hex');
  const urls = Object.fromEntries(
    ['IDENTITY', 'USERS', 'ITEMS', 'COMMERCE', 'NOTIFICATIONS'].map((name) => [`${name}_URL`, built.base]),
  );
  const { child, ended, ready } = await spawnService(MAIN, {
    ...{
      ...urls,
      PORT: port,
      HOST: '127.0.0.1',
      PUBLIC_URL: built.base,
      RATE_LIMIT: 'off',
      TRUSTED_PROXIES: '127.0.0.1',
    },
    DASHBOARD_CLIENT_SECRET: built.config.clientSecret,
    DASHBOARD_MONGODB_URI: built.config.mongodbUri,
    DASHBOARD_MASTER_KEY: key,
  });
  t.teardown(() => child.kill('SIGKILL'));
  await ready();
  const megabytes = () => {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1000;
  };
  async function kill(): Promise<void> {
    child.kill('SIGKILL');
    await ended;
  }
  const origin = `http://127.0.0.1:${port}`;
  return { origin, browser: createFormBrowser(origin, headers), kill, megabytes };
}

for (const [name, columns, line] of [
  ['products', 'name,price,currency', (i: number) => `Product ${i},${i}.25,EUR`],
  ['users', 'username,email', (i: number) => `person${i},person${i}@example.org`],
] as const) {
  t.test(`${name} are imported once each, although the process is killed`, async (t) => {
    const first = Array.from({ length: ROWS }, (_, i) => line(i));
    let dashboard = await startDashboard();
    const began = performance.now();
    const checking = await upload(dashboard.browser, name, [columns, ...first].join('\n'));
    const checked = await pageWith(
      dashboard.browser,
      checking,
      /Nothing has been changed yet\. To be/,
      LIMIT_MS,
    );
    const total = ROWS.toLocaleString('en-GB');
    t.match(textOf(checked), new RegExp(`To be created ${total} .*With errors 0`));
    t.comment(`${ROWS} rows: checked in ${Math.round(performance.now() - began)} ms`);
    const running = await dashboard.browser.submit(checked, {}, '/run"');
    for (let kill = 1; kill <= KILLS; kill += 1) {
      await imports.created(running, (ROWS * kill) / (KILLS + 1), LIMIT_MS);
      t.match(await imports.stored(running), { state: 'running' });
      t.ok(dashboard.megabytes() < MAX_MB, `${dashboard.megabytes()} MB`);
      await dashboard.kill();
      dashboard = await startDashboard();
    }
    const done = await pageWith(dashboard.browser, running, /The import is complete/, LIMIT_MS);
    t.comment(`done after ${Math.round(performance.now() - began)} ms, with ${dashboard.megabytes()} MB`);
    t.match(textOf(done), new RegExp(`Created ${total} .*Failed 0`));
    const exported = await fetch(new URL(`/dashboard/${name}/export.csv`, dashboard.origin), { headers });
    const lines = (await exported.text()).split('\r\n');
    const [column = ''] = columns.split(',', 1);
    const at = lines[0]?.split(',').indexOf(column) ?? -1;
    const made = lines
      .map((it) => it.split(',')[at])
      .filter((it) => /^(?:Product |person)\d+$/.test(it ?? ''));
    t.equal(made.length, ROWS);
    t.equal(new Set(made).size, ROWS);
    t.ok(dashboard.megabytes() < MAX_MB, `${dashboard.megabytes()} MB`);
    await dashboard.kill();
  });
}

t.test(
  'files of several people that come at once, as large as they may be, take bounded memory',
  async (t) => {
    const dashboard = await startDashboard();
    const rows = Array.from({ length: 49_000 }, (_, i) => `Large ${i},1,EUR,${'x'.repeat(190)}`);
    const content = ['name,price,currency,description', ...rows].join('\n');
    t.ok(content.length > 9.5 * 1024 ** 2 && content.length < 10 * 1024 ** 2);
    const names = ['editor', 'eve', 'bob', 'mallory'].slice(0, repetitions(4, 1 / 2));
    const browsers = [];
    for (const username of names) {
      const account = { username, email: `${username}@example.org`, password: PASSWORD, role: 'editor' };
      if (username !== 'editor') await built.call('POST', '/kb/api/v1/users', 'admin', account);
      browsers.push(createFormBrowser(dashboard.origin, headersOf((await built.signedIn(username)).browser)));
    }
    await Promise.all(
      browsers.map(async (browser) => {
        const page = await upload(browser, 'products', content);
        await pageWith(browser, page, /To be created 49,000 /, LIMIT_MS);
      }),
    );
    t.comment(`${dashboard.megabytes()} MB`);
    t.ok(dashboard.megabytes() < MAX_MB, `${dashboard.megabytes()} MB`);
  },
);
