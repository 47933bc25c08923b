import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFormBrowser } from '@gatehouse/testing/form-browser';
import { jsonRequest, loginToken } from '@gatehouse/testing/json-request';
import type { ForeignApi } from './foreign-servers.ts';

const AUDIENCE = 'https://notes.example.com/api';
const REDIRECT_URI = 'https://app.example.org/callback';
const ATTEMPTS_MS = 30_000;
/** Admins change others only soon after a sign-in. */
const LOGIN_MS = 120_000;

type Login = { username: string; password: string };
type Client = { client_id: string; client_secret: string };
type Person = Login & { id: string; browser: ReturnType<typeof createFormBrowser> };
/** Credentials, and what revokes them all: it resolves when Gatehouse has acknowledged that. */
export type Revocable = { credentials: string[]; revoke(): Promise<unknown> };
/** Creates credentials that are revoked in the same way. */
type Way = (count: number) => Promise<Revocable[]>;

const random = () => randomBytes(9).toString('hex');
const times = <T>(count: number, make: () => Promise<T>) => Promise.all(Array.from({ length: count }, make));

/** Repeats what fails while a replica is away. */
async function persist<T>(act: (attempt: number) => Promise<T>): Promise<T> {
  const until = performance.now() + ATTEMPTS_MS;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await act(attempt);
    } catch (error) {
      if (performance.now() > until || (error as { isFinal?: boolean }).isFinal) throw error;
      await sleep(50);
    }
  }
}

/**
 * Registers an API with the client of its servers. Returns the ways in which its tokens and API keys are revoked.
 *
 * @param origins where identity, which is the issuer, and the users service are reached
 */
export async function prepareWays(origins: { identity: string; users: string }, admin: Login) {
  async function call<T = Record<string, string>>(
    method: string,
    path: string,
    sent: object = {},
    isDone: (status: number) => boolean = () => false,
  ): Promise<T> {
    const origin = /^\/(?:v\d|api\/v1)\/users/.test(path) ? origins.users : origins.identity;
    const { status, body } = await jsonRequest<T>(method, origin + path, sent);
    if (status < 300 || isDone(status)) return body;
    const error = new Error(`${method} ${path}: ${status} ${JSON.stringify(body)}`);
    throw Object.assign(error, { isFinal: status < 500 });
  }
  /** A repetition learns that the first attempt was successful, if only its response was lost. */
  const revokeBy = (method: string, path: string, sent: () => Promise<object>) => () =>
    persist(async (attempt) =>
      call(method, path, await sent(), (status) => attempt > 0 && [401, 404, 409].includes(status)),
    );

  function createAdmin(login: Login): () => Promise<{ token: string }> {
    let current: { at: number; token: Promise<string> } | undefined;
    return async () => {
      if (current === undefined || performance.now() - current.at > LOGIN_MS) {
        current = { at: performance.now(), token: persist(() => loginToken(origins.identity, login)) };
      }
      return { token: await current.token };
    };
  }
  const asAdmin = createAdmin(admin);
  const create = <T = Record<string, string>>(path: string, body: object) =>
    persist(async () => call<T>('POST', path, { ...(await asAdmin()), body }));

  async function createPerson(): Promise<Person> {
    const password = random();
    return persist(async () => {
      const username = `p${random()}`;
      const body = { username, email: `${username}@example.org`, password };
      const { id = '' } = await call('POST', '/v1/users', { ...(await asAdmin()), body });
      return { id, username, password, browser: createFormBrowser(origins.identity) };
    });
  }
  const setRole = ({ id }: Person, role: string) =>
    revokeBy('PUT', `/v2/users/${id}/role`, async () => ({ ...(await asAdmin()), body: { role } }));

  await create('/api/v1/resources', {
    ...{ identifier: AUDIENCE, name: 'Notes' },
    scopes: [{ name: 'notes:read', description: 'Read your notes' }],
  });
  async function createApplication(draft: object): Promise<Client> {
    const made = await create<Client>('/api/v1/applications', { name: 'A', ...draft });
    return { client_id: made.client_id, client_secret: made.client_secret };
  }
  const createMachine = () => createApplication({ type: 'machine', scopes: ['read:data'] });
  const removal = ({ client_id }: Client, by = asAdmin) =>
    revokeBy('DELETE', `/api/v1/applications/${client_id}`, by);
  const server = await createApplication({ type: 'resource', scopes: [] });
  const web = await createApplication({ type: 'web', scopes: ['openid'], redirect_uris: [REDIRECT_URI] });
  const robot = await createMachine();

  const exchange = async (body: object) =>
    String((await call('POST', '/oauth/token', { body })).access_token);
  const machineToken = (client: Client) =>
    persist(() => exchange({ grant_type: 'client_credentials', ...client, resource: AUDIENCE }));

  /** A token of a person who is signed in, or signs in now, and allows it. */
  const personToken = ({ browser, username, password }: Person) =>
    persist(async () => {
      const asked = { client_id: web.client_id, redirect_uri: REDIRECT_URI, resource: AUDIENCE };
      const parameters = { ...asked, response_type: 'code', scope: 'openid notes:read' };
      let page = await browser.get(`/oauth2/authorize?${new URLSearchParams(parameters)}`);
      if (page.url.pathname.startsWith('/sign-in/'))
        page = await browser.submit(page, { username, password });
      if (page.url.pathname.startsWith('/consent/')) page = await browser.submit(page, { decision: 'allow' });
      const code = page.url.searchParams.get('code');
      if (code === null) throw new Error(`no code: ${page.status} ${page.url}\n${page.html}`);
      return exchange({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, ...web });
    });
  async function personTokens(person: Person, count: number): Promise<string[]> {
    const first = await personToken(person);
    return [first, ...(await times(count - 1, () => personToken(person)))];
  }

  const taker = await createPerson();
  await setRole(taker, 'admin')();
  const asTaker = createAdmin(taker);
  const resident = await createPerson();
  let role = 'user';

  const ways: Record<string, Way> = {
    token: (count) =>
      times(count, async () => {
        const token = await machineToken(robot);
        const revoke = revokeBy('POST', '/oauth2/revoke', async () => ({ body: { token, ...robot } }));
        return { credentials: [token], revoke };
      }),
    async 'sign-out'(count) {
      const credentials = await personTokens(resident, count);
      const revoke = () =>
        persist(async () => {
          const page = await resident.browser.get('/oauth2/logout');
          const isAsked = page.html.includes('name="logout"');
          const last = isAsked ? await resident.browser.submit(page, { logout: 'yes' }) : page;
          if (!last.html.includes('You are signed out')) throw new Error(`${last.status} ${last.html}`);
        });
      return [{ credentials, revoke }];
    },
    async password(count) {
      const credentials = await personTokens(resident, count);
      const token = await persist(() => loginToken(origins.identity, resident));
      const [current_password, new_password] = [resident.password, random()];
      const body = { current_password, new_password };
      const change = revokeBy('PUT', `/v1/users/${resident.id}/password`, async () => ({ token, body }));
      const revoke = async () => {
        await change();
        resident.password = new_password;
      };
      return [{ credentials, revoke }];
    },
    async role(count) {
      role = role === 'user' ? 'editor' : 'user';
      return [{ credentials: await personTokens(resident, count), revoke: setRole(resident, role) }];
    },
    async 'deletion of the person'(count) {
      const person = await createPerson();
      const credentials = await personTokens(person, count);
      return [{ credentials, revoke: revokeBy('DELETE', `/v1/users/${person.id}`, asAdmin) }];
    },
    async '“Revoke all access”'(count) {
      const credentials = await personTokens(resident, count);
      const path = `/api/v1/users/${resident.id}/revocations`;
      const revoke = revokeBy('POST', path, async () => ({ ...(await asAdmin()), body: {} }));
      return [{ credentials, revoke }];
    },
    async transfer(count) {
      const machine = await createMachine();
      const credentials = await times(count, () => machineToken(machine));
      const path = `/api/v1/applications/${machine.client_id}/transfer`;
      const body = { to: taker.username };
      // An admin gets it at once.
      const transfer = revokeBy('POST', path, async () => ({ ...(await asTaker()), body }));
      const revoke = async () => {
        await transfer();
        // Only to keep below the bound of applications, so that no time is measured with it.
        removal(machine, asTaker)().catch(() => {});
      };
      return [{ credentials, revoke }];
    },
    'API key': (count) =>
      times(count, async () => {
        const path = `/api/v1/applications/${robot.client_id}/api-keys`;
        const draft = { name: 'k', scopes: ['notes:read'], resource: AUDIENCE };
        const { id, api_key } = await create(path, draft);
        return { credentials: [String(api_key)], revoke: revokeBy('DELETE', `${path}/${id}`, asAdmin) };
      }),
    async application(count) {
      const machine = await createMachine();
      const credentials = await times(count, () => machineToken(machine));
      return [{ credentials, revoke: removal(machine) }];
    },
  };
  const api: ForeignApi = {
    ...{ GATEHOUSE: origins.identity, AUDIENCE },
    ...{ CLIENT_ID: server.client_id, CLIENT_SECRET: server.client_secret },
  };
  return { api, ways };
}
