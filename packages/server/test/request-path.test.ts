import { isCanonicalPath, pathOf } from '@gatehouse/server/request-path';
import t from 'tap';

const CANONICAL = [
  '/',
  '/a',
  '/oauth2/token',
  '/.well-known/openid-configuration',
  '/account/style.0a1b-_~.css',
  '/a/...',
  '/v2/things/a%2Fb%20%C3%A4',
  "/a/!*'()",
];

const OTHER = [
  ['no slash at the beginning', '', '*', 'a', 'http://x/a'],
  ['a slash at the end', '/a/', '/a/b/'],
  ['an empty segment', '//', '//a', '/a//b'],
  ['dot segments', '/.', '/..', '/a/./b', '/a/../b', '/a/.', '/a/%2e%2e/b', '/%2E'],
  ['escapes of what needs none', '/%61', '/oauth2/%74oken', '/a/%7E', '/a/%21'],
  ['escapes in lower case', '/a%2fb', '/a/%c3%a4'],
  [
    'what needs an escape',
    '/a b',
    '/a/b;c',
    '/a/b:c',
    '/a/b@c',
    '/a/[b]',
    '/a\\b',
    '/a"',
    '/ä',
    '/a#',
    '/#/a',
  ],
  ['escapes of nothing', '/a/%', '/a/%zz', '/a/%ff', '/a/%C3'],
] as const;

t.test('a path has one canonical spelling', async (t) => {
  for (const path of CANONICAL) t.equal(isCanonicalPath(path), true, path);
  for (const [label, ...paths] of OTHER)
    for (const path of paths) t.equal(isCanonicalPath(path), false, `${label}: ${path}`);
});

t.test('the path of a URL ends at the query', async (t) => {
  t.equal(pathOf('/a/b?c=/d?e'), '/a/b');
  t.equal(pathOf('/a'), '/a');
  t.equal(pathOf('/a#b?c'), '/a#b', 'a request has no fragment (RFC 9112 §3.2)');
});
