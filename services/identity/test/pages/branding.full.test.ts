import { accessibilityViolations, inChromium, pixelsTooWide } from '@gatehouse/testing/chromium';
import { until } from '@gatehouse/testing/processes';
import { brandOf, readBrandFields } from '@gatehouse/web/branding';
import t, { type Test } from 'tap';
import { authorizeUrl, build, PASSWORD, WEB } from '../build.ts';
import { mailsOf } from '../pages.ts';

/** A red square of 8 × 8 pixels. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR4nGP4z8CAFWEXHbQSACj/P8Fu7N9hAAAAAElFTkSuQmCC';
const LOGO = `data:image/png;base64,${PNG}`;
const BRAND = {
  ...{ name: 'Acme & Söhne', primary_color: '#7a1fa2', logo_uri: LOGO },
  ...{ policy_uri: 'https://acme.example/privacy', support_uri: 'https://acme.example/help?a=1&b=2' },
};
const built = await build(t, { checkResponses: true, config: { brand: brandOf(readBrandFields(BRAND)) } });
const admin = await built.login('admin');
const path = `/api/v1/applications/${WEB.client_id}`;
const change = (body: object) => built.call('PATCH', path, admin, body);

t.test('pages and mails have the name, the logo, the colour and the links of the deployment', async (t) => {
  const page = await built.browser().get('/account');
  t.match(page.html, '<title>Sign in – Acme &amp; Söhne</title>');
  t.match(page.html, `<img class="mark" src="${LOGO}" alt="" width="32" height="32">Acme &amp; Söhne</p>`);
  t.match(page.html, '<a href="https://acme.example/help?a=1&amp;b=2">Support</a>');
  t.notMatch(page.html, 'Gatehouse');
  const [style = ''] = /\/account\/brand\/[^"]+/.exec(page.html) ?? [];
  const { status, headers } = await fetch(built.base + style);
  t.match([status, headers.get('content-type')], [200, 'text/css; charset=utf-8']);
  for (const other of ['7a1fa2', '7a1fag.css', '../x.css', '7A1FA2.css', '7a1fa2.css.css']) {
    t.equal((await fetch(`${built.base}/account/brand/${other}`)).status, 404, other);
  }
  const visitor = built.browser();
  await visitor.submit(await visitor.get('/account/forgotten-password'), { login: 'admin@example.org' });
  await built.call('POST', '/kb/api/v1/users', admin, {
    ...{ username: 'erna', email: 'erna@example.org', password: PASSWORD },
  });
  await until(async () => (await mailsOf(built)).length > 0, 5000).catch(() => {});
  for (const mail of await mailsOf(built)) t.notMatch(mail, /Gatehouse/);
});

t.test('an application has its accent, its logo and its links in its box, and nowhere else', async (t) => {
  const links = { client_uri: 'https://web.example/', tos_uri: 'https://web.example/terms' };
  const appearance = { primary_color: '#ffee00', logo_uri: LOGO, ...links };
  t.match(await change(appearance), { status: 200, body: appearance });
  const { html } = await built.browser().get(authorizeUrl());
  t.match(
    html,
    /<p class="asking"><img class="asking-logo"[\s\S]*Home page<\/a>[\s\S]*Terms of service<\/a>[\s\S]*<\/p>/,
  );
  t.match(html, /brand\/7a1fa2\.css[\s\S]*accent\/ffee00\.css/);
  const accent = await (await fetch(`${built.base}/account/accent/ffee00.css`)).text();
  t.notMatch(accent, /wall|arch|ink/, 'the header keeps its colours');
  const [header = ''] = /<header[\s\S]*<\/header>/.exec(html) ?? [];
  t.match(header, 'Acme &amp; Söhne');
  t.notMatch(header, /Web of Examples|terms/);
  t.notMatch((await built.browser().get('/account')).html, /ffee00|web\.example/);
  const gone = { primary_color: null, logo_uri: null, client_uri: null, tos_uri: null };
  const { body } = await change(gone);
  t.notOk(Object.keys(body).some((name) => name in gone));
});

t.test('who manages an application sees how people will see it', async (t) => {
  await change({ primary_color: '#ffee00', logo_uri: LOGO, tos_uri: 'https://web.example/terms' });
  const visitors = { admin: built.browser(), ann: built.browser() };
  const preview = (page: string) => `/account/applications/${WEB.client_id}/preview/${page}`;
  for (const [username, browser] of Object.entries(visitors)) {
    await browser.submit(await browser.get(preview('sign-in')), { username, password: PASSWORD });
  }
  for (const page of ['sign-in', 'consent']) {
    const { html, status } = await visitors.admin.get(preview(page));
    t.equal(status, 200, page);
    const [inert = ''] = /<article inert>[\s\S]*<\/article>/.exec(html) ?? [];
    t.match(
      inert,
      /<p class="asking"><img class="asking-logo"[\s\S]*Web of Examples[\s\S]*Terms of service/,
      page,
    );
    t.match(inert, '<form method="post" action="#">', 'all that could be used is inert');
    t.match(html, /brand\/7a1fa2\.css[\s\S]*accent\/ffee00\.css/, page);
    t.match((await visitors.ann.get(preview(page))).status, 404, 'not for others');
  }
  t.match((await built.browser().get(preview('consent'))).url.pathname, /^\/sign-in\//, 'nor for anybody');
});

t.test(
  'mails have the accent in both schemes, fetch nothing, and admins see them before they are sent',
  async (t) => {
    const preview = (kind: string) => `/account/mails/${kind}/preview`;
    const visitors = { admin: built.browser(), ann: built.browser() };
    for (const [username, browser] of Object.entries(visitors)) {
      await browser.submit(await browser.get('/account'), { username, password: PASSWORD });
    }
    for (const kind of ['verify-email', 'new-password', 'invitation', 'password-changed']) {
      const { status, html, headers } = await visitors.admin.get(preview(kind));
      t.equal(status, 200, kind);
      t.match(html, /<p class="brand">Acme &amp; Söhne<\/p>\s*<h1>/);
      t.match(html, /class="button" href="http/);
      t.notMatch(html, /<(?:img|link|script)|url\(|@import/, 'nothing that tells its sender that it is read');
      t.match(
        headers.get('content-security-policy'),
        /^default-src 'none'; style-src 'unsafe-inline'; sandbox/,
      );
    }
    t.equal((await visitors.admin.get(preview('constructor'))).status, 404);
    t.equal((await visitors.ann.get(preview('invitation'))).status, 404, 'not for others');

    await inChromium(t, async (chromium) => {
      const { html } = await visitors.admin.get(preview('password-changed'));
      for (const colorScheme of ['light', 'dark'] as const) {
        const page = await chromium.newPage({ colorScheme, viewport: { width: 390, height: 800 } });
        await page.setContent(html);
        t.same(await accessibilityViolations(page), [], colorScheme);
        t.equal(await pixelsTooWide(page), 0, colorScheme);
        await page.close();
      }
    });
  },
);

t.test('what is refused', async (t) => {
  const png = Buffer.from(PNG, 'base64');
  const data = (bytes: Buffer, type = 'image/png') => `data:${type};base64,${bytes.toString('base64')}`;
  const large = Buffer.concat([png.subarray(0, -12), Buffer.alloc(16 * 1024), png.subarray(-12)]);
  const wide = Buffer.from(png);
  wide.writeUInt32BE(65_535, 16);
  const refused: [string, unknown, RegExp][] = [
    ['logo_uri', 'https://evil.example/track.png', /PNG picture in base64/],
    ['logo_uri', data(Buffer.from('<svg onload="alert(1)"/>'), 'image/svg+xml'), /PNG picture in base64/],
    ['logo_uri', data(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'.repeat(2))), /not a PNG/],
    ['logo_uri', `${LOGO}" onerror="alert(1)`, /PNG picture in base64/],
    ['logo_uri', `${LOGO}\n`, /PNG picture in base64/],
    ['logo_uri', data(large), /at most 16 KiB/],
    ['logo_uri', data(wide), /512 × 512/],
    ['logo_uri', data(png.subarray(0, 40)), /not a PNG/],
    ['primary_color', 'red', /#rrggbb/],
    ['primary_color', '#0057b8;}', /#rrggbb/],
    ['client_uri', 'javascript:alert(1)', /https/],
    ['policy_uri', 'javascript:alert(1)', /https/],
    ['tos_uri', 'http://web.example/terms', /https/],
    ['support_uri', 'mailto:help@web.example', /https/],
    ['support_uri', 7, /string/],
  ];
  for (const [field, value, message] of refused) {
    const { status, body } = await change({ [field]: value });
    t.equal(status, 400, `${field} ${String(value).slice(0, 40)}`);
    t.match(JSON.stringify(body), message);
    t.throws(() => readBrandFields({ [field]: value }), `${field} in the setting`);
  }
  for (const setting of [[], { nme: 'x' }, { name: '' }, { name: 'x'.repeat(41) }]) {
    t.throws(() => readBrandFields(setting), JSON.stringify(setting));
  }
  t.equal(brandOf(readBrandFields({})).name, 'Gatehouse');
});

await inChromium(t, async (chromium) => {
  for (const [colorScheme, width] of [
    ['light', 1280],
    ['dark', 390],
  ] as const) {
    t.test(`${colorScheme}, ${width} pixels wide`, async (t: Test) => {
      await change({ primary_color: '#ff7700', logo_uri: LOGO, policy_uri: 'https://web.example/privacy' });
      const context = await chromium.newContext({ colorScheme, viewport: { width, height: 844 } });
      t.teardown(() => context.close());
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (it) => void (it.type() === 'error' && complaints.push(it.text())));
      const look = async (name: string) => {
        t.strictSame(await accessibilityViolations(page), [], name);
        const { GATEHOUSE_PICTURES: pictures } = process.env;
        if (pictures)
          await page.screenshot({ path: `${pictures}/${name}-${colorScheme}.png`, fullPage: true });
      };
      await page.goto(built.base + authorizeUrl());
      await look('sign-in');
      await page.fill('#username', 'admin');
      await page.fill('#password', PASSWORD);
      await page.click('button.primary');
      await page.waitForURL('**/consent/**');
      await look('consent');
      await page.goto(`${built.base}/account`);
      await look('account');
      for (const name of ['sign-in', 'consent']) {
        await page.goto(`${built.base}/account/applications/${WEB.client_id}/preview/${name}`);
        t.equal(await page.locator('article[inert]').count(), 1);
        await look(`preview-${name}`);
      }
      t.strictSame(complaints, [], 'the policy of the pages lets everything through');
    });
  }
});
