import { type Asset, createAsset } from '@gatehouse/web/asset';
import { createStylesheet, withThemes } from '@gatehouse/web/stylesheet';

const DIRECTORY = '/dashboard/assets';
const library = (specifier: string) => new URL(import.meta.resolve(specifier));
const own = (file: string) => new URL(file, import.meta.url);

const stylesheet = createStylesheet(DIRECTORY, own('style.css'));
const chartStyle = createAsset(DIRECTORY, 'chart.css', [library('uplot/dist/uPlot.min.css')]);
const docsStyle = createAsset(DIRECTORY, 'docs.css', [own('../docs/docs.css')], withThemes);
const htmx = createAsset(DIRECTORY, 'htmx.js', [library('htmx.org/dist/htmx.min.js')]);
const page = createAsset(DIRECTORY, 'page.js', [own('./browser/page.js'), own('./browser/branding.js')]);
const chart = createAsset(DIRECTORY, 'chart.js', [
  library('uplot/dist/uPlot.iife.min.js'),
  own('./browser/chart.js'),
]);

/** Everything that pages load besides themselves, by its path. */
export const ASSETS: ReadonlyMap<string, Asset> = new Map(
  [stylesheet, chartStyle, docsStyle, htmx, page, chart].map((asset) => [asset.path, asset]),
);

/** Without what the Content-Security-Policy refuses, and without copies of pages in the browser's storage. */
const HTMX_CONFIG = {
  allowEval: false,
  allowScriptTags: false,
  includeIndicatorStyles: false,
  selfRequestsOnly: true,
  historyCacheSize: 0,
  refreshOnHistoryMiss: true,
  scrollBehavior: 'auto',
};

/** The assets of every page. */
export const HEAD = {
  stylesheets: [stylesheet.path],
  scripts: [htmx.path, page.path],
  meta: { 'htmx-config': JSON.stringify(HTMX_CONFIG) },
};
/** The assets of pages with charts. */
export const HEAD_WITH_CHARTS = {
  ...HEAD,
  stylesheets: [chartStyle.path, stylesheet.path],
  scripts: [...HEAD.scripts, chart.path],
};
/** The assets of the documentation. */
export const HEAD_OF_DOCS = { stylesheets: [stylesheet.path, docsStyle.path], scripts: [page.path] };
