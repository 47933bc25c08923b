import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium, type LaunchOptions } from 'playwright-core';

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
  const directories = (process.env.PATH ?? '').split(delimiter);
  return NAMES.flatMap((name) => directories.map((directory) => join(directory, name))).find((path) =>
    existsSync(path),
  );
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
