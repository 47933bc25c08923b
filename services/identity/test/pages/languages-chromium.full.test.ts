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
        for (const [name, markup] of inLanguage(language, () => everyPage((text) => text))) {
          // What fits a phone fits a desk.
          if (viewport.width > 360 && !SHOWN.test(name)) continue;
          html = markup;
          await page.goto('http://gatehouse.example/');
          const wide = await page.locator('html').evaluate((it) => it.scrollWidth - it.clientWidth);
          t.equal(wide, 0, `${name} does not scroll sideways`);
          if (pictures !== undefined && SHOWN.test(name)) {
            mkdirSync(pictures, { recursive: true });
            const file = `${name.replaceAll(/\W+/g, '-')}-${language.tag}-${viewport.width}.png`;
            await page.screenshot({ path: `${pictures}/${file}`, fullPage: true });
          }
        }
        t.equal(await page.locator('html').getAttribute('dir'), language.direction === 'rtl' ? 'rtl' : null);
      });
    }
  }
}
