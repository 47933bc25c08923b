import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { unescapeHtml } from '@gatehouse/testing/form-browser';
import t from 'tap';
import { build } from '../build.ts';

const built = await build(t);
const { base } = built;
const run = promisify(execFile);
const AsyncFunction = (async () => {}).constructor as new (source: string) => unknown;

/** The samples of the reference in a language, by operation, as they are copied. */
async function samplesIn(language: string): Promise<Map<string, string>> {
  const samples = new Map<string, string>();
  const index = await (await fetch(`${base}/docs/api`)).text();
  for (const [, topic] of new Map(
    [...index.matchAll(/href="(\/docs\/api\/[^"#]+)/g)].map((it) => [it[1], it]),
  ).values()) {
    const html = await (await fetch(base + topic)).text();
    for (const [, id = '', code = ''] of html.matchAll(
      new RegExp(`<pre id="(\\w+)-${language}" tabindex="0"><code>([\\s\\S]*?)</code>`, 'g'),
    )) {
      samples.set(id, unescapeHtml(code.replaceAll(/<[^>]+>/g, '')));
    }
  }
  return samples;
}

const [curl, node, python] = await Promise.all(['curl', 'node', 'python'].map(samplesIn));
const hasPython = spawnSync('python3', ['-c', 'import requests']).status === 0;
const WITHOUT_PYTHON = hasPython ? false : 'python3 has no library requests here';
const machine = (
  await built.call<{ client_id: string; client_secret: string }>('POST', '/api/v1/applications', 'admin', {
    ...{ name: 'Samples', type: 'machine', scopes: ['read:data', 'write:data'] },
  })
).body;
const env = {
  ...process.env,
  CLIENT_ID: machine.client_id,
  CLIENT_SECRET: machine.client_secret,
  TOKEN: await tokenOf(machine),
  ID: 'prd_missing',
};

async function tokenOf({ client_id, client_secret }: typeof machine): Promise<string> {
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret });
  const response = await fetch(`${base}/oauth2/token`, { method: 'POST', body });
  return ((await response.json()) as { access_token: string }).access_token;
}

t.test('every operation has a sample in each language', async (t) => {
  t.ok((node?.size ?? 0) > 100, `${node?.size}`);
  t.same([...(node?.keys() ?? [])], [...(curl?.keys() ?? [])]);
  t.same([...(python?.keys() ?? [])], [...(curl?.keys() ?? [])]);
  for (const [id, code] of node ?? []) t.doesNotThrow(() => new AsyncFunction(code), id);
});

t.test('every sample in Python can be parsed', { skip: WITHOUT_PYTHON }, async (t) => {
  const script = 'import ast, json, sys\nfor id, code in json.load(sys.stdin).items(): ast.parse(code, id)';
  const parsing = spawnSync('python3', ['-c', script], {
    input: JSON.stringify(Object.fromEntries(python ?? [])),
  });
  t.equal(parsing.status, 0, String(parsing.stderr));
});

const RUNS = {
  curl: (code: string) => run('bash', ['-c', `${code} -s -w '%{http_code}' -o /dev/null`], { env }),
  node: (code: string) => run(process.execPath, ['--input-type=module', '-e', code], { env }),
  python: (code: string) => run('python3', ['-c', code], { env }),
};
for (const [id, status] of [
  ['list_v2_products', /^200/],
  // The second one finds its SKU taken.
  ['create_v2_products', /^(?:201|409)/],
  ['read_v2_products', /^404/],
  ['oauth2_token', /^200/],
  ['oauth_token', /^200/],
] as const) {
  t.test(`the samples of ${id} run`, async (t) => {
    for (const [language, samples] of Object.entries({ curl, node, python })) {
      const code = samples?.get(id);
      if (language === 'python' && !hasPython) continue;
      if (code === undefined) {
        t.fail(`${language}: no sample`);
        continue;
      }
      const { stdout } = await RUNS[language as keyof typeof RUNS](code);
      t.match(stdout, status, `${language}\n${code}\n${stdout.slice(0, 300)}`);
    }
  });
}
