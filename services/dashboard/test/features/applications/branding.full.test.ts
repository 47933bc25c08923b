import { execFileSync } from 'node:child_process';
import {
  accessibilityViolations,
  inChromium,
  openPage,
  pixelsTooWide,
  signInTo,
  type Page as Tab,
} from '@gatehouse/testing/chromium';
import type { Page } from '@gatehouse/testing/form-browser';
import { readBrandFields } from '@gatehouse/web/branding';
import t, { type Test } from 'tap';
import { build, codeOf, heading, PASSWORD, textOf } from '../../build.ts';

/** A red square of 8 × 8 pixels. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR4nGP4z8CAFWEXHbQSACj/P8Fu7N9hAAAAAElFTkSuQmCC',
  'base64',
);
const LOGO = `data:image/png;base64,${PNG.toString('base64')}`;
const file = (bytes: Buffer, name = 'logo.png') => new File([new Uint8Array(bytes)], name);

const built = await build(t, { brand: { name: 'Acme', primary_color: '#7a1fa2', logo_uri: LOGO } });
const API = '/api/v1/applications';
const make = async (type: string) => {
  const uris = type === 'web' ? { redirect_uris: ['https://shop.example/back'] } : {};
  const draft = { name: 'Tea shop', type, scopes: ['read:data'], ...uris };
  return (await built.call<{ client_id: string }>('POST', API, 'ann', draft)).body.client_id;
};
const id = await make('web');
const page = `/dashboard/applications/${id}/branding`;
const FORM = 'name="client_uri"';
/** The setting on a page, as a shell reads it. */
const settingOf = (shown: Page) =>
  JSON.parse(
    execFileSync('sh', ['-c', `${codeOf(shown, 'brand')}\nprintf %s "$IDENTITY_BRAND"`], {
      encoding: 'utf8',
    }),
  );
const saved = async () => (await built.call('GET', `${API}/${id}`, 'ann')).body;

t.test('the form works without a script', async (t) => {
  const { browser } = await built.signedIn('ann');
  const steps: [string, Record<string, string | File>, object][] = [
    ['a colour as text', { primary_color: '#7A1FA2' }, { primary_color: '#7a1fa2' }],
    ['a colour that is picked', { 'primary_color.picked': '#0057b8' }, { primary_color: '#0057b8' }],
    ['no colour', { primary_color: '' }, { primary_color: undefined }],
    ['a picker that nobody used', { name: 'Tea house' }, { name: 'Tea house', primary_color: undefined }],
    ['a picture', { 'logo_uri.file': file(PNG) }, { logo_uri: LOGO }],
    [
      'a link',
      { client_uri: 'https://tea.example/' },
      { client_uri: 'https://tea.example/', logo_uri: LOGO },
    ],
    ['no picture', { 'logo_uri.removed': 'yes' }, { logo_uri: undefined, name: 'Tea house' }],
  ];
  for (const [name, fields, expected] of steps) {
    const after = await browser.submit(await browser.get(page), fields, FORM);
    t.match([after.status, textOf(after)], [200, /The branding is saved/], name);
    t.match(await saved(), expected, name);
  }
  const large = Buffer.concat([PNG.subarray(0, -12), Buffer.alloc(16 * 1024), PNG.subarray(-12)]);
  const refusals: [Record<string, string | File>, number, RegExp][] = [
    [
      { 'logo_uri.file': file(Buffer.from('ffd8ffe000104a464946', 'hex'), 'x.jpg') },
      400,
      /picture is not a PNG/,
    ],
    [{ 'logo_uri.file': file(large), name: 'Kept' }, 400, /The picture must have at most 16 KiB/],
    [{ 'logo_uri.file': file(Buffer.alloc(300_000)) }, 413, /Choose a PNG of at most 16 KiB/],
    [{ primary_color: 'red' }, 400, /The colour must be #rrggbb/],
    [{ tos_uri: 'http://tea.example/' }, 400, /The link “Terms of service” must use https/],
  ];
  for (const [fields, status, message] of refusals) {
    const refused = await browser.submit(await browser.get(page), fields, FORM);
    t.match([refused.status, textOf(refused)], [status, message]);
    t.notMatch(refused.html, 'src="data:image/png;base64,/9j', 'what is no picture is not shown');
    if (fields.name) t.match(refused.html, /name="name"[^>]* value="Kept"/, 'the other fields are kept');
  }
  t.match(await saved(), { name: 'Tea house', logo_uri: undefined });
});

t.test('nothing stands twice, and a program has no branding', async (t) => {
  const { browser } = await built.signedIn('ann');
  const settings = await browser.get(`/dashboard/applications/${id}`);
  t.notMatch(settings.html, /name="(?:name|primary_color|logo_uri|tos_uri)"/);
  t.match(settings.html, `href="${page}"`);
  const machine = `/dashboard/applications/${await make('machine')}`;
  t.match((await browser.get(machine)).html, 'name="name"');
  t.notMatch((await browser.get(machine)).html, 'Branding');
  t.equal((await browser.get(`${machine}/branding`)).status, 404);
  await built.call('POST', `${API}/${id}/members`, 'ann', { user: 'editor', role: 'viewer' });
  await built.call('POST', `/api/v1/memberships/${id}/accept`, 'editor');
  const viewer = await (await built.signedIn('editor')).browser.get(page);
  t.match([heading(viewer), textOf(viewer)], ['Tea house', /You are a viewer of this application/]);
  t.notMatch(viewer.html, FORM);
});

t.test('an admin sees the brand in force, and gets the setting for another one', async (t) => {
  const { browser } = await built.signedIn('admin');
  const inForce = await browser.get('/dashboard/branding');
  t.match(textOf(inForce), /In force.*IDENTITY_BRAND=/);
  t.same(settingOf(inForce), { name: 'Acme', primary_color: '#7a1fa2', logo_uri: LOGO });
  const fields = { name: "Anna's", tos_uri: 'https://tea.example/terms' };
  const written = await browser.submit(inForce, { ...fields, 'logo_uri.removed': 'yes' }, FORM);
  t.match([written.status, textOf(written)], [200, /Your new setting Nothing has changed yet/]);
  t.same(settingOf(written), { primary_color: '#7a1fa2', ...fields });
  t.strictSame(readBrandFields(settingOf(written)), settingOf(written), 'identity takes it');
  for (const [wrong, message] of [
    [{ name: ' ' }, 'The name must have 1 to 40 characters'],
    [{ primary_color: 'blue' }, 'The colour must be #rrggbb'],
    [{ 'logo_uri.file': file(Buffer.from('no picture')) }, 'The picture is not a PNG picture'],
  ] as const) {
    const refused = await browser.submit(await browser.get('/dashboard/branding'), wrong, FORM);
    t.match([refused.status, textOf(refused)], [400, message]);
    t.notMatch(textOf(refused), 'IDENTITY_BRAND=');
  }
  const { browser: editor, page: first } = await built.signedIn('editor');
  t.notMatch(first.html, '/dashboard/branding');
  t.equal((await editor.get('/dashboard/branding')).status, 403);
});

/** Holds a page to what all pages are held to, and takes its picture where one is wanted. */
async function look(t: Test, tab: Tab, name: string): Promise<void> {
  t.strictSame(await accessibilityViolations(tab), [], name);
  t.equal(await pixelsTooWide(tab), 0, name);
  const { GATEHOUSE_PICTURES: pictures } = process.env;
  const { width } = tab.viewportSize() ?? {};
  if (pictures) await tab.screenshot({ path: `${pictures}/${name}-${width}.png`, fullPage: true });
}

await inChromium(t, async (chromium) => {
  for (const [colorScheme, width] of [
    ['light', 1440],
    ['dark', 390],
  ] as const) {
    t.test(`the preview follows the form: ${colorScheme}, ${width} pixels wide`, async (t) => {
      const viewport = { width, height: 900 };
      const { page: tab, complaints } = await openPage(t, chromium, { colorScheme, viewport });
      await signInTo(tab, built.base + page, { username: 'ann', password: PASSWORD });
      await tab.fill('#name', 'Harbour Books');
      await tab.fill('[type=color]', '#c2185b');
      t.equal(await tab.inputValue('#primary_color'), '#c2185b');
      const background = (selector: string) =>
        tab.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).backgroundColor`);
      const colour = colorScheme === 'light' ? 'rgb(194, 24, 91)' : /^rgb\(2\d\d, \d+, \d+\)$/;
      await tab.waitForFunction('document.adoptedStyleSheets[0].cssRules.length > 0');
      t.match(await background('.look .primary'), colour);
      t.match(await tab.locator('.look .brand').first().textContent(), 'Acme');
      t.not(await background('.look .brand'), 'rgb(13, 59, 53)');
      t.match(await tab.locator('.look-asking').allInnerTexts(), [/Harbour Books/, /Harbour Books/]);
      await tab.fill('#tos_uri', 'https://tea.example/terms');
      t.ok(await tab.locator('.look-links >> text=Terms of service').first().isVisible());

      const photo = await tab.screenshot({ type: 'jpeg' });
      await tab.setInputFiles('[type=file]', { name: 'photo.jpg', mimeType: 'image/jpeg', buffer: photo });
      await tab.getByText(/made to fit, as photo-\d+x\d+\.png/).waitFor();
      await tab.locator('.look-picture[src^="data:image/png"]').first().waitFor();
      await look(t, tab, 'branding');
      await tab.click('button:text-is("Save")');
      await tab.waitForURL('**/branding?done=saved');
      t.match(await saved(), {
        name: 'Harbour Books',
        primary_color: '#c2185b',
        logo_uri: /^data:image\/png/,
      });

      const text = { name: 'x.png', mimeType: 'image/png', buffer: Buffer.from('no picture') };
      await tab.setInputFiles('[type=file]', text);
      await tab.locator('[type=file]:invalid').waitFor();
      t.strictSame(complaints, [], 'the policy of the pages lets everything through');
    });

    t.test(`the brand of the deployment: ${colorScheme}, ${width} pixels wide`, async (t) => {
      const { page: tab, complaints } = await openPage(t, chromium, {
        ...{ colorScheme, viewport: { width, height: 900 } },
      });
      await signInTo(tab, `${built.base}/dashboard/branding`, { username: 'admin', password: PASSWORD });
      await tab.fill('#name', 'Harbour');
      await tab.fill('#primary_color', '#0057b8');
      await tab.check('text=Remove the picture');
      t.match(await tab.locator('.look .brand').allTextContents(), ['Harbour', 'Harbour']);
      await tab.locator('.look svg').first().waitFor();
      await look(t, tab, 'deployment');
      await tab.click('button:text-is("Show the setting")');
      await tab.locator('#brand').waitFor();
      await look(t, tab, 'deployment-written');
      t.strictSame(complaints, []);
    });
  }
});
