import type { FormBrowser, Page } from '@gatehouse/testing/form-browser';
import { until } from '@gatehouse/testing/processes';
import mongoose from 'mongoose';
import { type Built, textOf } from '../build.ts';

type Stored = { _id: string; state: string; phase: string; reason: string | null; done: { create: number } };

/** A file of products with these names. */
export const productFile = (names: readonly string[]) =>
  `name,price,currency\n${names.map((name) => `${name},1,EUR`).join('\n')}`;

/** Names that no others have. */
export const namesOf = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${prefix} ${i}`);

/** Sends a file of products with these names, and confirms its import. */
export const start = async (browser: FormBrowser, names: readonly string[]) =>
  browser.submit(await upload(browser, 'products', productFile(names)), {}, '/run"');

export const cookieOf = (browser: FormBrowser) =>
  [...browser.cookies('/dashboard')].map((pair) => pair.join('=')).join('; ');

/** The names of all products, from an export. */
export async function productNames(base: string, browser: FormBrowser): Promise<string[]> {
  const headers = { cookie: cookieOf(browser) };
  const response = await fetch(`${base}/dashboard/products/export.csv`, { headers });
  const lines = (await response.text()).trimEnd().split('\r\n').slice(1);
  return lines.map((line) => line.split(',')[1] ?? '');
}

/** Sends a file to be checked; resolves to the page of its import, or to the form that refuses it. */
export async function upload(browser: FormBrowser, name: string, content: string): Promise<Page> {
  const form = await browser.get(`/dashboard/${name}/import`);
  return browser.submit(form, { file: new File([content], 'rows.csv', { type: 'text/csv' }) }, 'name="file"');
}

/** Looks at the page again until it says this. */
export async function pageWith(
  browser: FormBrowser,
  { url }: Page,
  text: RegExp,
  limitMs = 30_000,
): Promise<Page> {
  let page = await browser.get(url.pathname);
  await until(async () => {
    if (text.test(textOf(page))) return true;
    page = await browser.get(url.pathname);
    return false;
  }, limitMs).catch((error: unknown) => {
    throw new Error(`not ${text}: ${textOf(page).slice(-1500)}`, { cause: error });
  });
  return page;
}

/** The imports in the database of the dashboard. */
export async function openImports(
  t: { teardown(fn: () => unknown): void },
  { config }: Pick<Built, 'config'>,
) {
  const client = await new mongoose.mongo.MongoClient(config.mongodbUri).connect();
  t.teardown(() => client.close());
  const imports = client.db().collection<Stored>('imports');
  const stored = async ({ url }: Page) =>
    (await imports.findOne({ _id: url.pathname.split('/').at(-1) ?? '' })) as Stored;
  return {
    db: client.db(),
    stored,
    /** Waits until an import has created so many objects. */
    created: (page: Page, least = 1, limitMs = 30_000) =>
      until(async () => (await stored(page)).done.create >= least, limitMs),
    ended: (page: Page, limitMs: number) =>
      until(async () => !['running', 'cancelling'].includes((await stored(page)).state), limitMs),
  };
}
