import t from 'tap';
import type { ApplicationType } from '../../../src/core/applications/application.ts';
import {
  logoutUriProblem,
  originsOf,
  redirectUriProblem,
} from '../../../src/core/applications/redirect-uris.ts';

type Row = [uri: string, type: ApplicationType, problem: RegExp | undefined];
const fine = undefined;

const ROWS: Row[] = [
  ['https://app.example.org/callback', 'web', fine],
  ['https://app.example.org/callback', 'spa', fine],
  ['https://app.example.org/callback', 'native', fine],
  ['https://app.example.org', 'web', fine],
  ['https://app.example.org/', 'web', fine],
  ['https://app.example.org?tenant=1', 'web', fine],
  ['https://app.example.org:8443/cb?tenant=1&x=%20y', 'web', fine],
  ['https://xn--bcher-kva.example/cb', 'web', fine],
  ['https://192.0.2.1/cb', 'web', fine],
  ['https://app.example.org/a..b/.well-known/...', 'web', fine],
  ['https://app.example.org/cb?next=../x', 'web', fine],
  ['http://localhost:3000/cb', 'web', fine],
  ['http://localhost:3000/cb', 'spa', fine],
  ['http://127.0.0.1/cb', 'native', fine],
  ['http://127.0.0.1:49152/callback', 'web', fine],
  ['http://[::1]:8080/cb', 'spa', fine],
  ['com.example.app:/callback', 'native', fine],
  ['com.example.app://callback', 'native', fine],
  ['de.example.phone:/cb', 'native', fine],
  ['io.github.someone.tool:/cb', 'native', fine],
  ['com.example-1.app:/cb?x=1', 'native', fine],
  ['', 'web', /character/],
  ['/callback', 'web', /absolute/],
  ['//app.example.org/callback', 'web', /absolute/],
  ['app.example.org/callback', 'web', /absolute/],
  ['https:', 'web', /absolute/],
  ['https://', 'web', /absolute/],
  ['https:/app.example.org/cb', 'web', /normal form/],
  ['https:app.example.org/cb', 'web', /normal form/],
  ['https:///app.example.org/cb', 'web', /normal form/],
  ['http://app.example.org/cb', 'web', /must use https/],
  ['http://app.example.org/cb', 'native', /must use https/],
  ['http://127.0.0.2/cb', 'web', /must use https/],
  ['http://localhost.evil.example/cb', 'web', /must use https/],
  ['http://127.0.0.1.evil.example/cb', 'native', /must use https/],
  ['http://2130706433/cb', 'web', /normal form/],
  ['http://0x7f.1/cb', 'web', /normal form/],
  ['https://localhost/cb', 'native', /must use http/],
  ['https://127.0.0.1/cb', 'native', /must use http/],
  ['https://app.example.org/cb#', 'web', /fragment/],
  ['https://app.example.org/cb#x', 'spa', /fragment/],
  ['com.example.app:/cb#x', 'native', /fragment/],
  ['https://user@app.example.org/cb', 'web', /user name/],
  ['https://user:pass@app.example.org/cb', 'web', /user name/],
  ['https://@app.example.org/cb', 'web', /user name/],
  ['https://app.example.org@evil.example/cb', 'web', /user name/],
  ['com.example.app://user@host/cb', 'native', /user name/],
  ['https://app.example.org/a b', 'web', /character/],
  [' https://app.example.org/cb', 'web', /character/],
  ['https://app.example.org/cb\n', 'web', /character/],
  ['https://app.example.org/\tcb', 'web', /character/],
  ['https://app.example.org/cb\u0000', 'web', /character/],
  ['https://app.example.org\\@evil.example/cb', 'web', /character/],
  ['https:\\\\app.example.org/cb', 'web', /character/],
  ['https://app.example.org/<script>', 'web', /character/],
  ['https://app.example.org/"', 'web', /character/],
  ['https://bücher.example/cb', 'web', /character/],
  ['https://app.example.org/cb/..', 'web', /\.\./],
  ['https://app.example.org/a/../cb', 'web', /\.\./],
  ['https://app.example.org/./cb', 'web', /\.\./],
  ['https://app.example.org/%2e%2e/cb', 'web', /\.\./],
  ['https://app.example.org/%2E./cb', 'web', /\.\./],
  ['https://app.example.org/.%2e/cb', 'web', /\.\./],
  ['https://app.example.org/a%2f..%2fcb', 'web', /slash/],
  ['https://app.example.org/a%5c..%5Ccb', 'web', /slash/],
  ['com.example.app:/../cb', 'native', /\.\./],
  ['https://app.example.org/%zz', 'web', /does not encode anything/],
  ['https://app.example.org/%', 'web', /does not encode anything/],
  ['https://*.example.org/cb', 'web', /wildcard/],
  ['https://app.example.org/*', 'web', /wildcard/],
  ['HTTPS://app.example.org/cb', 'web', /normal form, https:/],
  ['https://App.Example.org/cb', 'web', /normal form, https:\/\/app\.example\.org/],
  ['https://app.example.org:443/cb', 'web', /normal form/],
  ['https://app.example.org:99999/cb', 'web', /absolute/],
  ['javascript:alert(1)', 'web', /must use https/],
  ['javascript:alert(1)', 'native', /private-use scheme/],
  ['data:text/html,x', 'native', /private-use scheme/],
  ['vbscript:x', 'spa', /must use https/],
  ['file:///etc/passwd', 'native', /private-use scheme/],
  ['blob:https://app.example.org/x', 'native', /private-use scheme/],
  ['about:blank', 'native', /private-use scheme/],
  ['myapp:/cb', 'native', /private-use scheme/],
  ['myapp:///cb', 'native', /private-use scheme/],
  ['myapp://?cb', 'native', /private-use scheme/],
  ['my:cb', 'native', /private-use scheme/],
  ['c://temp/cb', 'native', /private-use scheme/],
  ['my_app://cb', 'native', /absolute/],
  ['example-app://cb', 'web', /must use https/],
  ['example-app://cb', 'spa', /must use https/],
  ...[
    ...['cursor://vendor.tool/oauth/callback', 'vscode://vendor.tool/did-authenticate', 'example-app://cb'],
    ...['vscode-insiders://vendor.tool', 'msteams://cb', 'xcode://cb', 'h2x+1://cb?x=1'],
  ].map((uri): Row => [uri, 'native', fine]),
  // Each with a name, as private-use schemes have it: javascript://%0aalert(1) is run by browsers.
  ...[
    ...['javascript', 'vbscript', 'livescript', 'jscript', 'data', 'blob', 'file', 'filesystem', 'about'],
    ...['httpx', 'shttp', 'view-source', 'ws', 'wss', 'ftp', 'sftp', 'ssh', 'ldap', 'smb', 'jar', 'resource'],
    ...[
      'chrome',
      'chrome-extension',
      'moz-extension',
      'edge',
      'ms-msdt',
      'ms-settings',
      'search-ms',
      'shell',
    ],
    ...[
      'intent',
      'android-app',
      'content',
      'itms-apps',
      'mailto',
      'tel',
      'sms',
      'web+app',
      'webcal',
      'matrix',
    ],
    ...['urn', 'x-apple-data', 'market', 'bitcoin'],
  ].map((scheme): Row => [`${scheme}://name/cb`, 'native', /private-use scheme|normal form/]),
  ['com.example.app:cb', 'native', /private-use scheme/],
  ['com.example.app:/', 'native', /private-use scheme/],
  ['com..app:/cb', 'native', /private-use scheme/],
  ['accounts.google.com:/cb', 'native', /domain name in reverse/],
  ['google.com:/cb', 'native', /domain name in reverse/],
  ['app.example.com:/cb', 'native', /domain name in reverse/],
  ['my.bank.de:/cb', 'native', /domain name in reverse/],
  ['com.example.de:/cb', 'native', /domain name in reverse/],
  ['example.app:/cb', 'native', /domain name in reverse/],
  ['com:/cb', 'native', /domain name in reverse/],
  ['Com.Example.App:/cb', 'native', /normal form/],
  ['com.example.app:/cb', 'web', /must use https/],
  ['com.example.app:/cb', 'spa', /must use https/],
  ['ftp://app.example.org/cb', 'native', /private-use scheme/],
  ['urn:ietf:wg:oauth:2.0:oob', 'native', /private-use scheme/],
  [`https://app.example.org/${'x'.repeat(1976)}`, 'web', fine],
  [`https://app.example.org/${'x'.repeat(1977)}`, 'web', /2000/],
];

t.test('redirect URIs', (t) => {
  for (const [uri, type, expected] of ROWS) {
    const problem = redirectUriProblem(uri, { type, legacyImplicit: false });
    const name = `${type}: ${JSON.stringify(uri.slice(0, 80))}`;
    if (expected === undefined) t.equal(problem, undefined, name);
    else t.match(problem, expected, name);
  }
  t.end();
});

t.test('the implicit flow needs https, and no localhost', (t) => {
  const problem = (uri: string) => redirectUriProblem(uri, { type: 'spa', legacyImplicit: true });
  t.equal(problem('https://app.example.org/cb'), undefined);
  t.match(problem('http://127.0.0.1/cb'), /https/);
  t.match(problem('http://localhost/cb'), /https/);
  t.match(problem('https://localhost/cb'), /localhost/);
  t.end();
});

t.test('where we call for a back-channel logout', (t) => {
  t.equal(logoutUriProblem('https://app.example.org/logout'), undefined);
  for (const uri of [
    'http://app.example.org/logout',
    'http://127.0.0.1:27017/',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://localhost/',
    'https://169.254.169.254/latest',
    'https://users:3001/internal',
    'https://localhost.:8443/',
    'https://app.localhost/',
    'https://app.example.org./',
    'https://[::ffff:127.0.0.1]/',
    'https://127.0.0.1./',
    'https://8.8.8.8/',
    'https://user@app.example.org/',
    'https://user:secret@app.example.org/',
    'file:///x',
    'x',
  ])
    t.type(logoutUriProblem(uri), 'string', uri);
  t.end();
});

t.test('origins are those of websites', (t) => {
  const uris = ['https://app.example.org/cb', 'http://127.0.0.1:8000/', 'com.example.app:/cb'];
  t.same(originsOf(uris), ['https://app.example.org', 'http://127.0.0.1:8000']);
  t.end();
});
