import { mkdirSync } from 'node:fs';
import { type Browser, inChromium } from '@gatehouse/testing/chromium';
import { createLanguage, inLanguage } from '@gatehouse/web/language';
import t from 'tap';
import { stylesheet } from '../../src/pages/stylesheet.ts';
import { LANGUAGES, languageOf } from '../../src/texts/languages.ts';
import { everyPage } from './every-page.ts';

/** The texts in English, laid out from right to left. */
const MIRRORED = createLanguage('ar', {}, 'en-GB');
/** A directory for pictures to look at, if there is one. */
const { GATEHOUSE_PICTURES: pictures } = process.env;
const SHOWN = /^(?:sign in, prefilled|consent, more|second factor|security.*|profile|sessions)$/;

type Frame = {
  contentDocument: {
    documentElement: { clientWidth: number; scrollWidth: number; dir: string };
    styleSheets: ArrayLike<unknown>;
  };
};

await inChromium(t, languages);

async function languages(chromium: Browser): Promise<void> {
  for (const viewport of [
    { width: 1280, height: 800 },
    { width: 360, height: 740 },
  ]) {
    const page = await chromium.newPage({ viewport, javaScriptEnabled: false });
    let html = '';
    await page.route('**/*', (route) =>
      new URL(route.request().url()).pathname === stylesheet.path
        ? route.fulfill({ contentType: 'text/css', body: stylesheet.text })
        : route.fulfill({ contentType: 'text/html; charset=utf-8', body: html }),
    );
    for (const language of [...LANGUAGES.map(languageOf), MIRRORED]) {
      t.test(`${language.tag} at ${viewport.width}`, async (t) => {
        const pages = [...inLanguage(language, () => everyPage((text) => text))].filter(
          // What fits a phone fits a desk.
          ([name]) => viewport.width === 360 || SHOWN.test(name),
        );
        // All at once, each in a frame of the size of the window: one by one takes minutes.
        html = `<!doctype html>${pages.map(([, markup]) => frame(markup, viewport)).join('')}`;
        await page.goto('http://gatehouse.example/', { waitUntil: 'load' });
        const layouts = await page.locator('iframe').evaluateAll((frames: unknown[]) =>
          (frames as Frame[]).map(({ contentDocument: { documentElement: root, styleSheets } }) => ({
            width: root.clientWidth,
            wide: root.scrollWidth - root.clientWidth,
            isStyled: styleSheets.length > 0,
            dir: root.dir,
          })),
        );
        const dir = language.direction === 'rtl' ? 'rtl' : '';
        t.equal(layouts.length, pages.length);
        for (const [i, layout] of layouts.entries()) {
          const expected = { width: viewport.width, wide: 0, isStyled: true, dir };
          t.strictSame(layout, expected, `${pages[i]?.[0]} does not scroll sideways`);
        }
        for (const [name, markup] of pages) {
          if (pictures === undefined || !SHOWN.test(name)) continue;
          html = markup;
          await page.goto('http://gatehouse.example/');
          mkdirSync(pictures, { recursive: true });
          const file = `${name.replaceAll(/\W+/g, '-')}-${language.tag}-${viewport.width}.png`;
          await page.screenshot({ path: `${pictures}/${file}`, fullPage: true });
        }
      });
    }
  }
}

function frame(markup: string, { width, height }: { width: number; height: number }): string {
  const document = markup.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
  return `<iframe width="${width}" height="${height}" style="border: 0" srcdoc="${document}"></iframe>`;
}
