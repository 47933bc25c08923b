import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { findChromium, NO_CHROMIUM, startChromium } from '@gatehouse/testing/chromium';
import { startTestMongo } from '@gatehouse/testing/test-mongo';
import { startGatehouse } from './gatehouse.ts';
import { pathsOf, seed, seedUsage, spreadNotifications } from './screenshot-data.ts';

// `npm run screenshots [-- NAME…]`: every page, or those whose names contain one of these, light, dark and on a phone,
// into docs/screenshots.
const OUT = resolve(import.meta.dirname, '../../../docs/screenshots');
const LOOKS = {
  light: { viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  dark: { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light' },
  'phone-dark': { viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
} as const;

const path = findChromium();
if (path === undefined) throw new Error(NO_CHROMIUM);
const ends: (() => unknown)[] = [];
const scope = { teardown: (end: () => unknown) => ends.unshift(end) };
try {
  await takeAll(path, process.argv.slice(2));
} finally {
  for (const end of ends) await end();
}

async function takeAll(executable: string, wanted: readonly string[]): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-screenshots-'));
  scope.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const mongo = await startTestMongo();
  scope.teardown(mongo.stop);
  const { demo } = await startGatehouse(scope, dataDir, { MONGODB_URI: mongo.uri });
  const { base_url: base, admin, machine } = demo;
  await seedUsage(mongo.uri, machine.client_id);
  const made = await seed(demo);
  await spreadNotifications(mongo.uri);
  const pages = Object.entries(pathsOf(machine.client_id, made)).filter(
    ([name]) => wanted.length === 0 || wanted.some((part) => name.includes(part)),
  );
  const browser = await startChromium(scope, executable);
  await mkdir(OUT, { recursive: true });
  for (const [look, options] of Object.entries(LOOKS)) {
    const context = await browser.newContext({ locale: 'en-GB', ...options });
    const page = await context.newPage();
    // The README shows the overview, as it is when one opens it.
    const take = (name: string) =>
      page.screenshot({ path: join(OUT, `${name}-${look}.png`), fullPage: name !== 'overview' });
    await page.goto(`${base}/account/sign-up`);
    await take('create-account');
    await page.goto(`${base}/dashboard`);
    await take('sign-in');
    await page.fill('#username', admin.username);
    await page.fill('#password', admin.password);
    await page.click('button.primary');
    await page.waitForURL(`${base}/dashboard`);
    for (const [name, address] of pages) {
      await page.goto(base + address);
      await take(name);
    }
    await context.close();
  }
}
