import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { blocksOf, faultOf, runSteps, stepsOf } from './document.ts';

const fence = (language: string, text: string) => `\`\`\`${language}\n${text}\n\`\`\`\n`;
const SHOWN = '{"id": "usr_…", "tags": ["a"], "n": 1}';

// Documents are tested by these comparisons, which have to be able to fail.
const CASES: [
  response: [language: string, text: string] | undefined,
  output: string,
  fault: RegExp | undefined,
][] = [
  [undefined, 'anything', undefined],
  [undefined, '{"error":"it went wrong"}', /^it is an error/],
  [['json', SHOWN], '{"n":1,"tags":["a"],"id":"usr_1"}', undefined],
  [['json', SHOWN], '{"n":1,"tags":["a"],"id":"app_1"}', /^\$\.id is "app_1", and not "usr_…"$/],
  [['json', SHOWN], '{"n":2,"tags":["a"],"id":"usr_1"}', /^\$\.n is 2, and not 1$/],
  [['json', SHOWN], '{"n":1,"tags":["a"],"id":"usr_1","x":0}', /^\$ has id,n,tags,x, and not id,n,tags$/],
  [['json', SHOWN], '{"n":1,"tags":["a","b"],"id":"usr_1"}', /^\$\.tags has 2 entries/],
  [['json', '{"total": 2, "limit": 1}'], '{"total":3,"limit":1}', undefined],
  [['json', SHOWN], '', /^SyntaxError/],
  [['json', '{"error": "no"}'], '{"error":"no"}', undefined],
  [['json', '{"error": "no"}'], '{"data":[]}', /^\$ has data/],
  [['http', 'HTTP/1.1 200 OK\nlink: <…>'], 'HTTP/1.1 200 OK\r\nx: y\r\nlink: <a>', undefined],
  [['http', 'link: <…>'], 'HTTP/1.1 200 OK\r\nx: y', /^it has no line like "link: <…>"/],
];

t.test('an output that is not what the document shows is a fault', async (t) => {
  for (const [response, output, fault] of CASES) {
    const [step] = stepsOf(fence('sh', 'true') + (response === undefined ? '' : fence(...response)));
    const actual = step === undefined ? 'no step' : faultOf(step, output);
    if (fault === undefined) t.equal(actual, undefined, output);
    else t.match(actual, fault, output);
  }
});

t.test('blocks run in one shell, and the first that fails ends the document', async (t) => {
  const surroundings = { cwd: '/', env: process.env };
  const markdown = [
    ...[fence('sh', 'TOKEN=$(echo abc)'), fence('json', '{}'), fence('js', 'console.log(process.env.TOKEN)')],
    ...[fence('js x.mjs', 'saved, not run'), fence('yaml', 'a: b'), fence('sh', 'docker ps')],
  ].join('');
  const steps = stepsOf(markdown);
  t.match(steps, [{ response: { text: '{}' } }, { response: undefined }, { notRun: 'it needs Docker' }]);
  const printed: string[] = [];
  t.same(await runSteps(steps.slice(0, 2), surroundings, (output) => printed.push(output)), ['', 'abc']);
  t.match(printed.at(-1), /\nabc\n/, 'given as it is printed');
  const background = stepsOf(fence('sh', 'sleep 60 &') + fence('sh', 'echo done'));
  const before = Date.now();
  t.same(await runSteps(background, surroundings), ['', 'done']);
  t.ok(Date.now() - before < 30_000, 'what still runs in the background is ended');
  const failing = stepsOf(fence('sh', 'echo one') + fence('sh', 'false | cat') + fence('sh', 'echo three'));
  await t.rejects(runSteps(failing, surroundings), { message: /^line 4: false \| cat/ });
});

t.test('the workflow files in the guide for CI have scripts that bash can read', async (t) => {
  const guide = join(import.meta.dirname, '../../../docs/guides/ci-without-secrets.md');
  const [github, gitlab] = blocksOf(readFileSync(guide, 'utf8'))
    .filter(({ language }) => language === 'yaml')
    .map(({ text }) => parse(text));
  for (const script of [github.jobs.deploy.steps[0].run, ...gitlab.deploy.script]) {
    t.type(script, 'string');
    t.equal(spawnSync('bash', ['-n', '-c', script], { encoding: 'utf8' }).stderr, '');
  }
});
