import { execFile, spawn } from 'node:child_process';
import { appendFileSync, chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findChromium, startChromium } from '@gatehouse/testing/chromium';
import { createFormBrowser } from '@gatehouse/testing/form-browser';
import { freePort, until } from '@gatehouse/testing/processes';
import t, { type Test } from 'tap';
import { temporaryDir } from '../gatehouse.ts';
import { signInAndAllow, startServer } from './set-up.ts';

// The frameworks on the page Quick start of an application: each step that is a command is done, and somebody signs in.

type Framework = {
  /** The files that exist before the first step. */
  project?: Record<string, string>;
  begin?: string;
  /** The redirect URI that the framework chooses. */
  callback?: string;
  /** Where the sign-in begins, and how. */
  path?: string;
  host?: string;
  inBrowser?: boolean;
  /** Options that the last command needs here. */
  options?: string;
};
const POM = `<project><modelVersion>4.0.0</modelVersion>
<parent><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-parent</artifactId><version>4.0.7</version></parent>
<groupId>com.example</groupId><artifactId>demo</artifactId><version>1</version>
<dependencies>${['webmvc', 'security-oauth2-client']
  .map(
    (name) =>
      `<dependency><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-${name}</artifactId></dependency>`,
  )
  .join('')}</dependencies>
<build><plugins><plugin><groupId>org.springframework.boot</groupId><artifactId>spring-boot-maven-plugin</artifactId></plugin></plugins></build></project>`;
const FRAMEWORKS: Record<string, Framework> = {
  next: {
    begin: 'npm init -y && npm pkg delete type && npm install --no-audit next@16 react@19 react-dom@19',
    callback: '/api/auth/callback/gatehouse',
    inBrowser: true,
    // Next.js takes its other names for this one.
    host: 'localhost',
    project: {
      'app/layout.js': 'export default ({ children }) => <html lang="en"><body>{children}</body></html>;',
    },
  },
  react: {
    begin:
      'npm init -y --init-type=module && npm install --no-audit vite@7 @vitejs/plugin-react@5 react@19 react-dom@19',
    project: {
      'index.html': '<!doctype html><div id="root"></div><script type="module" src="/src/main.jsx"></script>',
      'vite.config.js': "import react from '@vitejs/plugin-react';\nexport default { plugins: [react()] };",
    },
    inBrowser: true,
  },
  express: {},
  fastify: { path: '/login' },
  django: {
    callback: '/accounts/oidc/gatehouse/login/callback/',
    options: ' --noreload',
  },
  'go-oidc': { path: '/login' },
  spring: {
    callback: '/login/oauth2/code/gatehouse',
    project: {
      'pom.xml': POM,
      mvnw: '#!/bin/sh\nexec mvn -q "$@"\n',
      'src/main/java/com/example/demo/DemoApplication.java': `package com.example.demo;
@org.springframework.boot.autoconfigure.SpringBootApplication
public class DemoApplication {
  public static void main(String[] args) { org.springframework.boot.SpringApplication.run(DemoApplication.class, args); }
}`,
    },
  },
};

t.setTimeout(900_000);
const server = await startServer(t);
const { demo } = server;
const dashboard = server.browser();
await dashboard.submit(await dashboard.get('/dashboard'), {
  username: demo.admin.username,
  password: demo.admin.password,
});
const plain = (text: string) =>
  ['&quot;"', "&#39;'", '&lt;<', '&gt;>', '&amp;&'].reduce(
    (it, pair) => it.replaceAll(pair.slice(0, -1), pair.slice(-1)),
    text,
  );

/** The commands and files on the page, or the block of commands that has them all. */
async function guideOf(clientId: string, id: string) {
  const { html } = await dashboard.get(`/dashboard/applications/${clientId}/quick-start?for=${id}`);
  const all = (pattern: RegExp) =>
    [...html.matchAll(pattern)].map((it) =>
      it.slice(1).map((text = '') => plain(text.replaceAll(/<[^>]+>/g, ''))),
    );
  return {
    commands: all(/<li>Run: <span class="copyable"><code[^>]*>([^<]*)/g)
      .map(([command = '']) => command)
      // The test has a folder of its own, and sets the variables for the last command.
      .map((command) => command.replace(/^mkdir \S+ \S+ && cd \S+ && /, ''))
      .filter((command) => !command.startsWith('set ')),
    block: all(new RegExp(`<pre id="code-${id}"[^>]*><code>([\\s\\S]*?)</code>`, 'g'))[0]?.[0],
    files: all(/<h3><code>([^<]*)<\/code><\/h3>[\s\S]*?<pre[^>]*><code>([\s\S]*?)<\/code>/g),
  };
}

for (const [id, framework] of Object.entries(FRAMEWORKS)) {
  t.test(id, async (t) => {
    const port = await freePort();
    const home = `http://${framework.host ?? '127.0.0.1'}:${port}`;
    const made = await server.createApplication({
      ...{ name: 'Quick', type: id === 'react' ? 'spa' : 'web', scopes: ['openid', 'profile', 'email'] },
      redirect_uris: [home + (framework.callback ?? '/callback')],
    });
    const { commands, files, block } = await guideOf(made.client_id, id);
    t.ok(block !== undefined || (commands.length > 0 && files.length > 0));
    const cwd = temporaryDir(t);
    const env = {
      ...process.env,
      PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    };
    const write = (all: string[][]) => {
      for (const [name = '', text = ''] of all) {
        mkdirSync(dirname(join(cwd, name)), { recursive: true });
        appendFileSync(
          join(cwd, name),
          `\n${text.replace('YOUR_CLIENT_SECRET', made.client_secret ?? '')}\n`,
        );
      }
    };
    for (const [name, text] of Object.entries(framework.project ?? {})) {
      mkdirSync(dirname(join(cwd, name)), { recursive: true });
      writeFileSync(join(cwd, name), text);
      if (name === 'mvnw') chmodSync(join(cwd, name), 0o755);
    }
    // Files are written where the page shows them: after what makes the project, before what reads them.
    const [last = '', ...before] = commands.toReversed();
    const makes = before.toReversed().filter((command) => !/migrate|go mod/.test(command));
    const load = id === 'react' ? '' : 'set -a; . ./.env; set +a; ';
    const run = (command: string) => promisify(execFile)('sh', ['-ec', command], { cwd, env });
    const fault = await (async () => {
      for (const command of [framework.begin ?? 'true', ...makes]) await run(command);
      write(files);
      for (const command of before.toReversed().filter((it) => !makes.includes(it)))
        await run(load + command);
    })().then(
      () => undefined,
      (error: Error) => error.message.trim().slice(-500),
    );
    // Without the language or its registry there is nothing to test.
    if (fault !== undefined) return void t.pass('its packages can be installed', { skip: fault });
    const start =
      block?.replace('YOUR_CLIENT_SECRET', made.client_secret ?? '') ??
      `${load}exec ${last}${framework.options ?? ''}`;
    const child = spawn('sh', ['-ec', start], { cwd, env, detached: true });
    t.teardown(() => spawn('kill', ['-9', '--', `-${child.pid}`]));
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
    const isUp = () =>
      fetch(home, { redirect: 'manual' }).then(
        () => true,
        () => {
          if (child.exitCode !== null) throw new Error(output);
          return false;
        },
      );
    await until(isUp, 120_000).catch((error: unknown) => t.fail(`${error}\n${output}`));
    const text = await (framework.inBrowser
      ? inBrowser(t, home)
      : withoutScript(home + (framework.path ?? '/')));
    t.match(text, new RegExp(`Signed in: (?:${demo.user.username}|${demo.user.user_id})`), output);
  });
}

/** The page of a web application after the sign-in, which begins at once or with the page's only form. */
async function withoutScript(url: string): Promise<string> {
  const application = createFormBrowser(url);
  const page = await application.get(url);
  const { url: request } = page.status === 0 ? page : await application.submit(page, {});
  const callback = await signInAndAllow(server.browser(), request, demo.user);
  return (await application.get(callback.href)).html.replaceAll(/<[^>]*>/g, '');
}

async function inBrowser(t: Test, url: string): Promise<string> {
  const tab = await (await startChromium(t, findChromium() ?? '')).newPage();
  await tab.goto(url);
  await tab.click('text=Sign in');
  await tab.fill('#username', demo.user.username);
  await tab.fill('#password', demo.user.password);
  await tab.click('button.primary');
  await tab.waitForURL('**/consent/**');
  await tab.locator('button').first().click();
  await tab.getByText('Signed in').waitFor();
  return (await tab.textContent('body')) ?? '';
}
