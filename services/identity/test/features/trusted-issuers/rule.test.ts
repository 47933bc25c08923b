import t from 'tap';
import { findDifference, patternProblem, type Rule } from '../../../src/features/trusted-issuers/rule.ts';

const RULE: Rule = {
  issuer: 'https://ci.example',
  subject: 'repo:acme/shop:*',
  audience: null,
  claims: [
    ['repository', 'acme/shop'],
    ['ref', 'refs/heads/*'],
    ['run', 1],
    ['protected', true],
  ],
};
const CLAIMS = {
  iss: 'https://ci.example',
  sub: 'repo:acme/shop:ref:refs/heads/main',
  aud: 'https://id.example',
  repository: 'acme/shop',
  ref: 'refs/heads/main',
  run: 1,
  protected: true,
};
const OURS = ['https://id.example', 'https://id.example/oauth2/token'];

t.test('the first claim that differs', async (t) => {
  const other = { ...RULE, audience: 'api://shop' };
  for (const [name, more, claim, rule = RULE] of [
    ['as it should be', {}, undefined],
    ['the token endpoint', { aud: OURS[1] }, undefined],
    ['a list of one audience', { aud: [OURS[0]] }, undefined],
    ['another issuer', { iss: 'https://ci.example/' }, 'iss'],
    ['a longer name', { sub: 'repo:acme/shop-evil:ref:refs/heads/main' }, 'sub'],
    ['nothing after a prefix', { sub: 'repo:acme/shop:' }, 'sub'],
    ['another case', { sub: 'repo:Acme/shop:ref:refs/heads/main' }, 'sub'],
    ['a list as the subject', { sub: ['repo:acme/shop:ref'] }, 'sub'],
    ['no subject', { sub: undefined }, 'sub'],
    ['the audience of somebody else', { aud: 'https://other.example' }, 'aud'],
    ['two audiences', { aud: [OURS[0], 'https://other.example'] }, 'aud'],
    ['both of ours', { aud: OURS }, 'aud'],
    ['no audience', { aud: undefined }, 'aud'],
    ['a longer audience', { aud: `${OURS[0]}/` }, 'aud'],
    ['the named audience', { aud: 'api://shop' }, undefined, other],
    ['ours, where another is named', {}, 'aud', other],
    ['a longer repository', { repository: 'acme/shop-evil' }, 'repository'],
    ['a list of repositories', { repository: ['acme/shop'] }, 'repository'],
    ['an object', { repository: { toString: 'acme/shop' } }, 'repository'],
    ['no repository', { repository: undefined }, 'repository'],
    ['a tag', { ref: 'refs/tags/v1' }, 'ref'],
    ['a number after a prefix', { ref: 1 }, 'ref'],
    ['a text for a number', { run: '1' }, 'run'],
    ['a text for a boolean', { protected: 'true' }, 'protected'],
    ['an inherited name', {}, 'constructor', { ...RULE, claims: [['constructor', 'x']] }],
  ] as [string, object, string | undefined, Rule?][]) {
    t.equal(findDifference(rule, { ...CLAIMS, ...more }, OURS)?.claim, claim, name);
  }
});

t.test('a prefix matches what begins with all its segments, and nothing else', async (t) => {
  const parts = ['repo', 'acme', 'shop', 'shop-evil', 'sho', '', 'a*'];
  const texts = parts.flatMap((a) => parts.flatMap((b) => parts.map((c) => `${a}:${b}/${c}`)));
  for (const prefix of texts.filter((it) => !it.includes('*')).flatMap((it) => [`${it}:*`, `${it}/*`])) {
    if (patternProblem(prefix) !== undefined) continue;
    for (const text of texts.flatMap((it) => [it, `${it}:x`, `${it}/x`, `${it}:`])) {
      const rule: Rule = { ...RULE, subject: prefix, claims: [] };
      const isMatch = findDifference(rule, { ...CLAIMS, sub: text }, OURS) === undefined;
      const [start, more] = [text.slice(0, prefix.length - 1), text.slice(prefix.length - 1)];
      if (isMatch !== (`${start}*` === prefix && more !== '')) t.fail(`${prefix} and ${text}`);
    }
  }
});

t.test('where a * may be', async (t) => {
  for (const [text, isRight] of [
    ['repo:acme/shop:*', true],
    ['acme/*', true],
    ['spiffe://example.org/*', true],
    ['plain', true],
    ['*', false],
    [':*', false],
    ['/*', false],
    ['spiffe://*', false],
    ['acme/shop*', false],
    ['acme/*/shop', false],
    ['acme/**', false],
    ['*/shop', false],
    ['repo:*:main', false],
    ['repo:*/*', false],
  ] as const)
    t.equal(patternProblem(text) === undefined, isRight, text);
});
