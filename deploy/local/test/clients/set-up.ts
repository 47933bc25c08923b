import { createFormBrowser, type FormBrowser, type Page } from '@gatehouse/testing/form-browser';
import { jsonRequest, loginToken } from '@gatehouse/testing/json-request';
import { until } from '@gatehouse/testing/processes';
import type { Demo } from '../../src/demo.ts';
import { startGatehouse, temporaryDir } from '../gatehouse.ts';

type TestScope = { teardown(fn: () => unknown): void };
type Account = { username: string; password: string };

/** An application as the API for applications answers when it has made one. */
export type MadeApplication = { client_id: string; client_secret?: string };

export type Server = {
  issuer: string;
  demo: Demo;
  /** Makes an application of the demo's admin through the API. */
  createApplication(body: Record<string, unknown>): Promise<MadeApplication>;
  /** A browser of its own, in which nobody has signed in yet. */
  browser(): FormBrowser;
  /** The status of GET, with an Authorization header or with the access token. */
  statusOf(path: string, credential: { token: string } | { authorization: string }): Promise<number>;
};

export const EVERY_SCOPE = 'openid profile email read:profile read:users write:users read:data write:data';

/** What npm start runs, for libraries to be the clients of. */
export async function startServer(t: TestScope, env: Record<string, string> = {}): Promise<Server> {
  const { demo } = await startGatehouse(t, temporaryDir(t), env);
  const issuer = demo.base_url;
  return {
    issuer,
    demo,
    browser: () => createFormBrowser(issuer),
    async createApplication(body) {
      const token = await loginToken(issuer, demo.admin);
      const made = await jsonRequest<MadeApplication>('POST', `${issuer}/api/v1/applications`, {
        token,
        body,
      });
      if (made.status === 201) return made.body;
      throw new Error(`no application: ${made.status} ${JSON.stringify(made.body)}`);
    },
    async statusOf(path, credential) {
      const authorization = 'token' in credential ? `Bearer ${credential.token}` : credential.authorization;
      const response = await fetch(issuer + path, { headers: { authorization } });
      await response.body?.cancel();
      return response.status;
    },
  };
}

/** Does what a person does until the application is reached: signs in if asked, and allows. Where that leads to. */
export async function signInAndAllow(
  browser: FormBrowser,
  url: URL | string,
  account: Account,
): Promise<URL> {
  const { username, password } = account;
  let page = await browser.get(String(url));
  if (page.url.pathname.startsWith('/sign-in/')) page = await browser.submit(page, { username, password });
  if (page.url.pathname.startsWith('/consent/')) page = await browser.submit(page, { decision: 'allow' });
  return left(page);
}

/** Signs out by the address that the library gives, and confirms it. Where that leads to. */
export async function signOut(browser: FormBrowser, url: URL | string): Promise<URL> {
  return left(await browser.submit(await browser.get(String(url)), { logout: 'yes' }));
}

/** Waits until the access token is refused, which must be within a second. */
export function untilDead(server: Server, path: string, token: string): Promise<void> {
  return until(async () => (await server.statusOf(path, { token })) === 401, 1000);
}

/** What a promise is rejected with; throws when it is not. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  const result = await promise.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  if (result === undefined) throw new Error('it was not refused');
  return result.error;
}

/** The form browser stops where a redirect leaves the site. */
function left(page: Page): URL {
  if (page.status !== 0) throw new Error(`it is still here: ${page.status} ${page.url}\n${page.html}`);
  return page.url;
}
