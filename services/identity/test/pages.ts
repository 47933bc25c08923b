import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import http, { type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import type { FormBrowser, Page } from '@gatehouse/testing/form-browser';
import { type Built, PASSWORD, signInAndAllow } from './build.ts';

type TestScope = { teardown(fn: () => unknown): void };

/** What the page is called. */
export const heading = ({ html }: Page) => /<h1>(.*?)<\/h1>/.exec(html)?.[1];

/** What the page says has been done. */
export const noticeOf = ({ html }: Page) => /<p class="notice" role="status">(.*?)<\/p>/.exec(html)?.[1];

/** Whether somebody has to sign in there. */
export const isSignIn = ({ url }: Page) => url.pathname.startsWith('/sign-in/');

/** What the page reports as wrong, without its markup. */
export const alertOf = ({ html }: Page) =>
  /role="alert"[^>]*>([\s\S]*?)<\/div>/
    .exec(html)?.[1]
    ?.replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** The value that a field of the page is filled with. */
export const valueIn = ({ html }: Page, name: string) =>
  new RegExp(`<input id="${name}"[^>]*? value="([^"]*)"`).exec(html)?.[1];

/** The path behind the link with these words. */
export function linkOf({ html }: Page, words: string): string {
  const href = [...html.matchAll(/<a [^>]*?href="([^"]*)"[^>]*>(.*?)<\/a>/g)].find(([, , text]) =>
    text?.includes(words),
  )?.[1];
  if (href === undefined) throw new Error(`there is no link «${words}» on:\n${html}`);
  return href.replaceAll('&amp;', '&');
}

/** Where an application was reached, as the parameters it got. */
export const responseOf = ({ url }: Page) => ({
  at: `${url.origin}${url.pathname}`,
  ...Object.fromEntries(url.searchParams),
});

/** Makes an account in a browser, as the sign-in page offers it, and goes on to wherever that leads. */
export async function createAccount(
  browser: FormBrowser,
  url: string,
  fields: { username: string; email: string; password?: string; name?: string },
): Promise<Page> {
  const signIn = await browser.get(url);
  const form = await browser.get(linkOf(signIn, 'Create an account'));
  return browser.submit(form, { password: PASSWORD, ...fields });
}

/** The texts of the mails that have been sent, the oldest first. */
export async function mailsOf({ outbox }: Pick<Built, 'outbox'>): Promise<string[]> {
  const files = (await readdir(outbox)).filter((name) => !name.startsWith('.')).sort();
  return Promise.all(files.map((file) => readFile(join(outbox, file), 'utf8')));
}

/** A new person, signed in to the account pages. */
export async function newPerson(built: Built, username: string): Promise<FormBrowser> {
  const visitor = built.browser();
  await createAccount(visitor, '/account', { username, email: `${username}@example.org` });
  return visitor;
}

/** Somebody who is signed in to the account pages. */
export async function signedIn(built: Built, username: string, password = PASSWORD): Promise<FormBrowser> {
  const visitor = built.browser();
  await signInAndAllow(visitor, '/account', username, password);
  return visitor;
}

/** The links that undo a change, which are in mails about it. */
export const UNDO = /\/account\/undo-change/;

/** Waits until a mail with a link has come to the address, by default one that was asked for, and takes it. */
export async function linkTo(
  built: Pick<Built, 'links'>,
  address: string,
  which = (link: string) => !UNDO.test(link),
): Promise<string> {
  for (let i = 0; i < 100; i += 1) {
    const at = built.links.findIndex(({ to, link }) => to === address && which(link));
    const [mail] = at === -1 ? [] : built.links.splice(at, 1);
    if (mail !== undefined) return mail.link;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`no mail came to ${address}`);
}

/** A request as a program makes it, with the browser's cookies; redirects are not followed. */
export async function send(
  built: Built,
  method: string,
  path: string,
  options: {
    browser?: FormBrowser;
    headers?: Record<string, string>;
    fields?: Record<string, string>;
    body?: string;
  } = {},
) {
  const { browser, fields } = options;
  const url = new URL(path, built.base);
  const cookies = browser?.cookies(url.pathname) ?? new Map();
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: {
      accept: 'text/html',
      ...(cookies.size === 0
        ? {}
        : { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }),
      ...(fields === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      ...options.headers,
    },
    ...(fields === undefined ? {} : { body: new URLSearchParams(fields).toString() }),
    ...(options.body === undefined ? {} : { body: options.body }),
  });
  const { status, headers } = response;
  return { url, status, headers, html: await response.text() };
}

/** Something between identity and the users service that can be switched off, redirect elsewhere, and hold a request up. */
export async function usersSwitch(t: TestScope) {
  const state = { down: false, target: '', redirectTo: undefined as string | undefined };
  let holdUp: { path: string; wait: () => Promise<void> } | undefined;
  const server = http.createServer(async (request, response) => {
    if (state.down) return request.socket.destroy();
    if (state.redirectTo !== undefined) return response.writeHead(307, { location: state.redirectTo }).end();
    if (holdUp !== undefined && request.url?.includes(holdUp.path)) {
      const { wait } = holdUp;
      holdUp = undefined;
      await wait();
    }
    const onward = http.request(
      new URL(request.url ?? '/', state.target),
      { method: request.method, headers: request.headers as IncomingHttpHeaders },
      (reply) => {
        response.writeHead(reply.statusCode ?? 502, reply.headers);
        reply.pipe(response);
      },
    );
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as { port: number };
  /** Holds up the next request to this path; the result resolves when it has come, with what lets it go on. */
  function holdNext(path: string): Promise<() => void> {
    const held = Promise.withResolvers<() => void>();
    holdUp = { path, wait: () => new Promise((goOn) => held.resolve(goOn)) };
    return held.promise;
  }
  /** What becomes of a request during which this path is held up while something else happens. */
  async function whileHeld<T>(path: string, request: () => Promise<T>, meanwhile: () => Promise<unknown>) {
    const held = holdNext(path);
    const response = request();
    const goOn = await held;
    await meanwhile();
    goOn();
    return response;
  }
  return { url: `http://127.0.0.1:${port}`, state, whileHeld };
}
