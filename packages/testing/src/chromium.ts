import { readFileSync } from 'node:fs';
import { findExecutable } from '@gatehouse/local-mongo/executable';
import { type Browser, chromium, type LaunchOptions, type Page } from 'playwright-core';

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

/** Why browser tests do not run here. */
export const NO_CHROMIUM = 'there is no Chromium on the PATH';

/** The path of a Chromium that is installed; undefined when there is none. */
export function findChromium(): string | undefined {
  const [first] = NAMES.flatMap((name) => findExecutable(name, process.env) ?? []);
  return first;
}

/** Starts a Chromium without a window, with these settings over the usual ones. It ends with the test. */
export async function startChromium(
  t: { teardown(action: () => unknown): void },
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

type Violations = { violations: { id: string; nodes: { html: string }[] }[] };

/** What axe-core finds on a page that is not as accessible as it must be: the rules, each with the elements that break it. */
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
