import { createFormBrowser } from '@gatehouse/testing/form-browser';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { requestedLanguage } from '../../src/texts/languages.ts';
import { authorizeUrl, build, PASSWORD, WEB } from '../build.ts';
import { heading, linkOf, mailsOf, responseOf, signedIn } from '../pages.ts';

const built = await build(t);
const { base, call } = built;
const browser = (accepted = '*') => createFormBrowser(base, { 'accept-language': accepted });
const languageOf = ({ html }: { html: string }) => /<html lang="([^"]+)"/.exec(html)?.[1];

t.test('ui_locales, the browser and English, in this order', async (t) => {
  for (const [accepted, uiLocales, expected] of [
    ['*', undefined, 'en'],
    ['', undefined, 'en'],
    ['de', undefined, 'de'],
    ['de-AT, en;q=0.5', undefined, 'de'],
    ['zh, de;q=0.3, en;q=0.2', undefined, 'de'],
    ['zh', undefined, 'en'],
    ['en-US, de;q=0.9', undefined, 'en'],
    ['en', 'de', 'de'],
    ['en', 'DE-ch', 'de'],
    ['en', 'zh-Hant de-CH-1996 en', 'de'],
    ['de', 'zh', 'de'],
    ['de', 'en', 'en'],
    ['de', '', 'de'],
    ['en', '../de', 'en'],
    ['en', `${'x '.repeat(150)}de`, 'en'],
    ['en', 'constructor', 'en'],
  ] as const) {
    const more: Record<string, string> = uiLocales === undefined ? {} : { ui_locales: uiLocales };
    const page = await browser(accepted).get(authorizeUrl(more));
    const name = `${accepted} with ${uiLocales?.slice(0, 20)}`;
    t.equal(languageOf(page), expected, name);
    t.equal(page.headers.get('content-language'), expected, name);
    t.match(page.headers.get('vary')?.toLowerCase(), 'accept-language', name);
  }
});

t.test('ui_locales holds for all steps of a sign-in', async (t) => {
  const visitor = browser('en');
  const page = await visitor.get(authorizeUrl({ ui_locales: 'de' }));
  t.equal(heading(page), 'Anmelden');
  const wrong = await visitor.submit(page, { username: 'ann', password: 'wrong' });
  t.equal(languageOf(wrong), 'de');
  t.match(wrong.html, 'Benutzername und Passwort passen nicht zusammen');
  t.equal(heading(await visitor.get(linkOf(wrong, 'Konto erstellen'))), 'Konto erstellen');
  const forgotten = await visitor.get(linkOf(wrong, 'Passwort vergessen?'));
  t.equal(languageOf(forgotten), 'de');
  t.equal(languageOf(await visitor.submit(forgotten, { login: 'nobody' })), 'de');
  const consent = await visitor.submit(page, { username: 'ann', password: PASSWORD });
  t.equal(heading(consent), 'Darf diese Anwendung Ihr Konto verwenden?');
  const done = await visitor.submit(consent, { decision: 'allow' });
  t.match(responseOf(done), { at: WEB.redirect_uri, code: String });
});

t.test('pages of errors are in the language, and the API is in English', async (t) => {
  const visitor = browser('de');
  const expired = await visitor.get('/sign-in/none');
  t.match(
    [expired.status, languageOf(expired), heading(expired)],
    [400, 'de', 'Diese Anmeldung ist abgelaufen'],
  );
  const unknown = await visitor.get(authorizeUrl({ client_id: 'nobody' }));
  t.equal(heading(unknown), 'Unbekannte Anwendung');
  t.match(unknown.html, 'invalid_client', 'codes stay as they are');
  const response = await fetch(`${base}/api/v1/sessions`, { headers: { 'accept-language': 'de' } });
  t.equal(response.headers.get('content-language'), null);
  t.match(await response.text(), /token/);
});

t.test('the metadata lists the languages', async (t) => {
  const { body } = await call('GET', '/.well-known/openid-configuration');
  t.strictSame(body.ui_locales_supported, ['en', 'de', 'fr', 'es', 'pt', 'ja']);
  for (const tag of body.ui_locales_supported as string[]) t.equal(requestedLanguage(tag)?.tag, tag);
});

t.test('ui_locales of the account pages holds for the sign-in that they ask for', async (t) => {
  for (const path of ['/account', '/account/sign-up', '/account/sessions']) {
    t.equal(languageOf(await browser().get(`${path}?ui_locales=fr`)), 'fr', path);
  }
});

t.test('mails are in the language of the account, or else in that of the request', async (t) => {
  const FRENCH = 'Subject: Choisir un nouveau mot de passe';
  const person = await signedIn(built, 'ann');
  const ask = async (accepted: string) => {
    const visitor = browser(accepted);
    const before = (await mailsOf(built)).length;
    await visitor.submit(await visitor.get('/account/forgotten-password'), { login: 'ann' });
    await until(async () => (await mailsOf(built)).length > before, 5000);
    return (await mailsOf(built)).at(-1) ?? '';
  };
  t.match(await ask('fr'), FRENCH);
  for (const [locale, expected] of [
    ['de-AT', 'Subject: Neues Passwort wählen'],
    ['nl', FRENCH],
  ] as const) {
    await person.submit(await person.get('/account'), { locale }, 'name="locale"');
    t.match(await ask('fr'), expected, locale);
  }
});
