import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { runInNewContext } from 'node:vm';
import { unescapeHtml } from '@gatehouse/testing/form-browser';
import { render } from '@gatehouse/web/html';
import t from 'tap';
import type { Application } from '../../../src/api/application-types.ts';
import { FRAMEWORKS } from '../../../src/features/applications/quick-start/frameworks.ts';
import { js, type Sample } from '../../../src/features/applications/quick-start/sample.ts';
import {
  frameworkView,
  SNIPPETS,
  snippetView,
} from '../../../src/features/applications/quick-start/snippets.ts';

/** What an owner may give as a redirect URI, and the rest as hostile. */
const TAIL = `?a=1&b=$(echo pwned);\`pwned\`';pwned();'";pwned();"\\`;
const SAMPLE = {
  base: `https://id.example${TAIL}`,
  clientId: `app_1${TAIL}`,
  redirectUri: `https://web.example/callback${TAIL}`,
  scope: `openid read:data${TAIL}`,
};
const SECRET = `s3cret${TAIL}`;
const VALUES = [...Object.values(SAMPLE), SECRET];

/** The texts that are values in a program: arguments of commands, or string literals. */
const TEXTS: Record<string, (code: string) => string[]> = {
  sh(code) {
    const program = `curl() { printf '%s\\n' "$@" >&2; }\necho() { curl "$@"; }\n${code}`;
    const { stderr, stdout, status } = spawnSync('sh', ['-euc', program], {
      env: { CLIENT_SECRET: 'secret', TOKEN: 'token', PATH: process.env.PATH },
      input: 'code\n',
      encoding: 'utf8',
    });
    if (status !== 0 || stdout !== '') throw new Error(`${status}: ${stdout}${stderr}`);
    return stderr.split('\n');
  },
  js(code) {
    const literal = /'(?:[^'\\\n]|\\.)*'/g;
    if (code.replaceAll(literal, '').includes('pwned')) throw new Error(`it runs what it was given: ${code}`);
    return (code.match(literal) ?? []).map((text) => String(runInNewContext(text)));
  },
  module(code) {
    // Throws unless it is a module.
    stripTypeScriptTypes(code);
    return TEXTS.js?.(code) ?? [];
  },
  // Go, Java and YAML: of the values there, all that is escaped is escaped as in JSON.
  quoted(code) {
    const literal = /"(?:[^"\\\n]|\\.)*"/g;
    if (code.replaceAll(literal, '').includes('pwned')) throw new Error(`it runs what it was given: ${code}`);
    return (code.match(literal) ?? []).map((text) => String(JSON.parse(text)));
  },
  python(code) {
    const program = `import ast, json, sys
nodes = list(ast.walk(ast.parse(sys.stdin.read())))
assert not any(isinstance(node, ast.Name) and node.id == "pwned" for node in nodes)
print(json.dumps([node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]))`;
    return JSON.parse(
      execFileSync('python3', ['-c', program], { input: code, encoding: 'utf8' }),
    ) as string[];
  },
};
const LANGUAGES: Record<string, string> = { curl: 'sh', python: 'python', go: 'quoted', java: 'quoted' };
const languageOf = (id: string) => LANGUAGES[id] ?? 'module';
const hasPython = spawnSync('python3', ['--version']).status === 0;

const EXTENSIONS: Record<string, string> = {
  js: 'js',
  jsx: 'js',
  py: 'python',
  go: 'quoted',
  java: 'quoted',
  yml: 'quoted',
};
/** The page of an application whose redirect URI is on this port. */
const ON_PORT = { ...SAMPLE, redirectUri: 'http://127.0.0.1:4321/callback' };
const pageOf = (id: string, sample: Sample = ON_PORT) => {
  const framework = FRAMEWORKS.find((it) => it.id === id);
  if (framework === undefined) throw new Error(id);
  return render(frameworkView(id, framework, sample, { redirect_uris: [] } as unknown as Application));
};

t.test('each framework listens where the redirect URI leads', async (t) => {
  for (const { id } of FRAMEWORKS) t.match(pageOf(id), ':4321', id);
  t.match(pageOf('django'), 'runserver 127.0.0.1:4321<');
  t.match(pageOf('react'), 'npx vite --host 127.0.0.1 --port 4321<');
  t.match(pageOf('next'), 'npx next dev --port 4321<');
  t.match(pageOf('spring').replaceAll(/<[^>]+>/g, ''), 'server.port: &quot;4321&quot;');
  for (const { id } of FRAMEWORKS) t.notMatch(pageOf(id), /\{(?:host|port|origin)\}/, id);
});

t.test('the variables are a file of their own, unless the secret is in the code', async (t) => {
  const textOf = (html: string) => html.replaceAll(/<[^>]+>/g, '');
  t.match(textOf(pageOf('express')), /CLIENT_SECRET=YOUR_CLIENT_SECRET\nSESSION_SECRET=[0-9a-f]{64}/);
  t.notMatch(pageOf('react'), '.env');
  for (const snippet of SNIPPETS.machine) {
    const html = render(snippetView('x', snippet, SAMPLE));
    t.match(html, /<h3><code>\.env<\/code><\/h3><div class="code-block"><pre id="x-env"/, snippet.id);
    t.notMatch(render(snippetView('x', snippet, { ...SAMPLE, secret: SECRET })), /\.env\b/, snippet.id);
  }
});

t.test('the commands of Express and Fastify write the program as it is, and start it', async (t) => {
  for (const { id, files } of FRAMEWORKS.filter(({ packages }) => packages !== undefined)) {
    const html = pageOf(id, { ...SAMPLE, secretInFile: 's3cret' });
    t.notMatch(html, 'YOUR_CLIENT_SECRET', 'the new secret is filled in');
    t.match(pageOf(id), '<li>Put a client secret', 'or else has to be');
    const [, code = ''] = /<pre[^>]*><code>([\s\S]*?)<\/code>/.exec(html) ?? [];
    const commands = unescapeHtml(code.replaceAll(/<[^>]+>/g, ''));
    const cwd = t.testdir();
    const script = `npm() { :; }\nnode() { echo "node $*"; }\n${commands}`;
    t.equal(
      execFileSync('sh', ['-euc', script], { cwd, encoding: 'utf8' }),
      'node --env-file=.env server.js\n',
      id,
    );
    const written = (name: string) => readFileSync(`${cwd}/quick-start/${name}`, 'utf8');
    t.equal(written('server.js'), `${files(SAMPLE)['server.js']?.text}\n`);
    t.match(written('.env'), /^CLIENT_SECRET=s3cret\n/);
  }
});

t.test('comments, strings and keywords have colours', async (t) => {
  t.match(pageOf('express'), '<span class="code-keyword">import</span>');
  t.match(pageOf('react'), '<span class="code-comment">// The code is used once');
  t.match(pageOf('go-oidc'), '<span class="code-keyword">func</span> main');
  t.match(pageOf('spring'), /<span class="code-string">&quot;\$\{CLIENT_SECRET\}&quot;<\/span>/);
  const plain = render(
    snippetView('x', { id: 'x', title: 'x', steps: [], code: () => js`'</code>'` }, SAMPLE),
  );
  t.match(plain, '<span class="code-string">&#39;&lt;/code&gt;&#39;</span>');
});

t.test('so it is in the files of the frameworks', async (t) => {
  for (const { id, files } of FRAMEWORKS) {
    const texts = Object.entries(files(SAMPLE)).flatMap(([name, code]) => {
      const language = EXTENSIONS[name.split('.').at(-1) ?? ''] ?? '';
      return language === 'python' && !hasPython ? [] : (TEXTS[language]?.(code.text) ?? []);
    });
    if (texts.length > 0) t.ok(texts.includes(SAMPLE.base) && texts.includes(SAMPLE.clientId), id);
  }
});

t.test('a value in a snippet is one value of its program, whatever is in it', async (t) => {
  const seen = new Set<string>();
  for (const [type, snippets] of Object.entries(SNIPPETS)) {
    for (const { id, code } of snippets) {
      const language = languageOf(id);
      if (language === 'python' && !hasPython) continue;
      const textsOf = (sample: Sample) => TEXTS[language]?.(code(sample).text).join('\n') ?? '';
      const texts = textsOf({ ...SAMPLE, secret: SECRET });
      for (const value of VALUES.filter((it) => texts.includes(it))) seen.add(`${language} ${value}`);
      t.ok(texts.includes(SAMPLE.base), `${type}, ${id}`);
      t.notMatch(textsOf(SAMPLE), SECRET, 'else the secret comes from the environment');
    }
  }
  for (const language of ['sh', 'module', ...(hasPython ? ['python'] : [])]) {
    for (const value of VALUES) t.ok(seen.has(`${language} ${value}`), `${language}: ${value}`);
  }
});
