import { readFileSync } from 'node:fs';
import { findExecutable } from '@gatehouse/local-mongo/executable';
import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  type LaunchOptions,
  type Page,
} from 'playwright-core';
import { repetitions } from './repetitions.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export type { Browser, Page };

type TestScope = { teardown(action: () => unknown): void };

/** The settings in which elements that are too small, too wide or too pale show. */
export const SCREENS = [
  { viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  { viewport: { width: 360, height: 740 }, colorScheme: 'dark' },
  { viewport: { width: 1920, height: 1080 }, colorScheme: 'dark', reducedMotion: 'reduce' },
] as const;

/** The screens on which every page is looked at: at night all, else a phone, as a page that fits there fits a desk. */
export const WALKED_SCREENS = [SCREENS[1], SCREENS[0], SCREENS[2]].slice(0, repetitions(SCREENS.length));

/** Why browser tests do not run here. */
export const NO_CHROMIUM = 'there is no Chromium on the PATH';

/** The path of a Chromium that is installed; undefined when there is none. */
export function findChromium(): string | undefined {
  const [first] = NAMES.flatMap((name) => findExecutable(name, process.env) ?? []);
  return first;
}

/** Starts a Chromium without a window, with these settings over the usual ones. It ends with the test. */
export async function startChromium(
  t: TestScope,
  executablePath: string,
  { args = [], ...options }: LaunchOptions = {},
): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath,
    headless: true,
    args: [...QUIET, ...args],
    ...options,
  });
  t.teardown(() => browser.close());
  return browser;
}

/** Runs tests in a Chromium; where there is none, their report says so. */
export async function inChromium(
  t: TestScope & { plan(count: number, why: string): void },
  tests: (browser: Browser, path: string) => Promise<unknown>,
  options: LaunchOptions = {},
): Promise<void> {
  const path = findChromium();
  if (path === undefined) t.plan(0, NO_CHROMIUM);
  else await tests(await startChromium(t, path, options), path);
}

/** A page in a browser of its own, and the errors and warnings of its console. */
export async function openPage(
  t: TestScope,
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({ locale: 'en-GB', ...options });
  t.teardown(() => context.close());
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`${page.url()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`${page.url()}: ${error.message}`));
  return { page, complaints };
}

/** Opens an address, signs in on the page that is there instead, and waits for it. */
export async function signInTo(
  page: Page,
  url: string,
  { username, password }: { username: string; password: string },
): Promise<void> {
  await page.goto(url);
  await page.fill('#username', username);
  await page.fill('#password', password);
  await page.click('button.primary');
  await page.waitForURL(url);
}

/** By how many pixels a page is wider than its window. */
export async function pixelsTooWide(page: Page): Promise<number> {
  return Math.max(0, await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth'));
}

/** How many bytes the page and what it needs took, as they were sent. */
export function bytesOf(page: Page): Promise<number> {
  return page.evaluate<number>(
    'performance.getEntries().reduce((sum, { encodedBodySize = 0 }) => sum + encodedBodySize, 0)',
  );
}

type Violations = { violations: { id: string; nodes: { html: string }[] }[] };

/** The accessibility violations that axe-core finds on a page: the rules, each with the elements that break it. */
export async function accessibilityViolations(page: Page): Promise<string[]> {
  // Colours that are still changing would be measured half way.
  await page.evaluate('Promise.all(document.getAnimations().map(({ finished }) => finished))');
  // Not as a script element, which the policy of the pages refuses.
  await page.evaluate(readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8'));
  const { violations } = await page.evaluate<Violations>("axe.run({ resultTypes: ['violations'] })");
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`,
  );
}
