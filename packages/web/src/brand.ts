import { AsyncLocalStorage } from 'node:async_hooks';
import { type Html, html } from './html.ts';
import { logo } from './illustrations.ts';

/** The brand of pages and mails. */
export type Brand = {
  /** In the header of every page, in titles and in mails. */
  name: string;
  /** A PNG picture in base64. */
  logo?: string | undefined;
  /** The accent of mails as #rrggbb. */
  primaryColor?: string | undefined;
  /** The paths of stylesheets that come after those of the page. */
  stylesheets?: readonly string[];
  /** Links at the end of pages, by their texts in English. */
  links?: readonly BrandLink[];
};
export type BrandLink = { text: string; url: string };

const GATEHOUSE: Brand = { name: 'Gatehouse' };

const current = new AsyncLocalStorage<Brand>();

/** Runs this, and what follows from it, under a brand. */
export function inBrand<T>(own: Brand | undefined, run: () => T): T {
  return current.run(own ?? GATEHOUSE, run);
}

/** The brand of what runs; Gatehouse where there is none. */
export const brand = (): Brand => current.getStore() ?? GATEHOUSE;

/** Its logo and name. */
export function brandMark(): Html {
  const { name, logo: picture } = brand();
  return html`${picture === undefined ? logo : html`<img class="mark" src="data:image/png;base64,${picture}" alt="" width="32" height="32">`}${name}`;
}
