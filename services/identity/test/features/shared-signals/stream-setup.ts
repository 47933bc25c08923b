import { build, PASSWORD } from '../../build.ts';
import { tokensFor } from '../../tokens.ts';
import { receiver, setVerifier } from './receiver.ts';

type TestScope = Parameters<typeof build>[0];
export const PATH = '/api/v1/ssf';
const EVENTS = 'https://schemas.openid.net/secevent';
export const ALL = [
  ...['session-revoked', 'credential-change', 'token-claims-change'].map(
    (it) => `${EVENTS}/caep/event-type/${it}`,
  ),
  ...['account-disabled', 'account-purged'].map((it) => `${EVENTS}/risc/event-type/${it}`),
];
export const POLL = 'urn:ietf:rfc:8936';
export const PUSH = 'urn:ietf:rfc:8935';

/** An application, with its token for its stream. */
export type StreamApplication = Awaited<
  ReturnType<Awaited<ReturnType<typeof build>>['createApplication']>
> & { redirect_uri: string; token: string };

/** Identity with applications that have streams, and people who use them. */
export async function setUpStreams(t: TestScope) {
  const built = await build(t, {
    checkResponses: true,
    config: { sharedSignalsNetworks: ['127.0.0.0/8'] },
  });
  const { call, form, base } = built;
  const [admin, ann] = [await built.login('admin'), await built.login('ann')];
  const redirect_uri = 'https://app.example.org/callback';

  const tokenFor = async (client: { client_id: string; client_secret: string }, scope = 'ssf.manage') => {
    const { client_id, client_secret } = client;
    const { status, body } = await form({
      grant_type: 'client_credentials',
      client_id,
      client_secret,
      scope,
    });
    if (status !== 200) throw new Error(JSON.stringify(body));
    return String(body.access_token);
  };
  /** A web application, with its token for its stream. */
  async function application(login = ann, type = 'web') {
    const isWeb = type === 'web';
    const draft = { name: 'Listening', type, scopes: isWeb ? ['openid', 'roles'] : ['read:data'] };
    const made = await built.createApplication(
      login,
      isWeb ? { ...draft, redirect_uris: [redirect_uri] } : draft,
    );
    return { ...made, redirect_uri, token: await tokenFor(made) };
  }
  const create = (app: StreamApplication, body: object = {}) =>
    call('POST', `${PATH}/streams`, app.token, body);
  /** Fetches the events, and acknowledges those that were fetched before. */
  async function poll(app: StreamApplication, id: unknown, more: object = {}) {
    const url = `${PATH}/events/${id}`;
    const { status, body } = await call('POST', url, app.token, { returnImmediately: true, ...more });
    return { status, ...(body as { sets: Record<string, string>; moreAvailable: boolean }) };
  }
  /** An application that fetches its events. */
  async function listening(login = ann, more: object = {}) {
    const app = await application(login);
    const { body } = await create(app, { events_requested: ALL, ...more });
    const id = String(body.stream_id);
    const verify = setVerifier(base, app.client_id);
    const events = async () => Promise.all(Object.values((await poll(app, id)).sets).map(verify));
    const types = async () => (await events()).map(({ type }) => type).sort();
    return { ...app, id, events, types };
  }
  /** An application to which its events are sent. */
  async function pushed(login = ann, delivery: object = {}) {
    const app = await application(login);
    const at = await receiver(t, base, app.client_id);
    const { status, body } = await create(app, {
      delivery: { method: PUSH, endpoint_url: at.url, ...delivery },
      events_requested: ALL,
    });
    if (status !== 201) throw new Error(JSON.stringify(body));
    return { ...app, at, id: String(body.stream_id) };
  }
  let people = 0;
  async function person(...apps: StreamApplication[]) {
    people += 1;
    const username = `person${people}`;
    const id = await built.createPerson(username);
    const browser = built.browser();
    const signIn = (app: StreamApplication) =>
      tokensFor(built, {
        client: app,
        browser,
        username,
        password: PASSWORD,
        more: { scope: 'openid roles' },
      });
    for (const app of apps) await signIn(app);
    return { id, username, browser, signIn };
  }
  /** Gives an application another secret instead of its own, and returns a token of the new one. */
  async function replaceSecret(app: StreamApplication) {
    const url = `/api/v1/applications/${app.client_id}/secrets`;
    const { body: added } = await call('POST', url, ann, {});
    const { body: list } = await call('GET', url, ann);
    const old = (list.data as { id: string }[]).find(({ id }) => id !== added.id)?.id;
    const { status } = await call('DELETE', `${url}/${old}`, ann);
    if (status !== 204) throw new Error(`the deletion of a secret was answered with ${status}`);
    return tokenFor({ ...app, client_secret: String(added.client_secret ?? added.secret) });
  }
  const setRole = (id: string, role: string) => call('PUT', `/v2/users/${id}/role`, admin, { role });
  const deactivate = (id: string) => call('PUT', `/v1/users/${id}/status`, admin, { status: 'inactive' });
  const remove = (id: string) => call('DELETE', `/v2/users/${id}`, admin);

  return {
    built,
    admin,
    ann,
    tokenFor,
    application,
    create,
    poll,
    listening,
    pushed,
    person,
    setRole,
    deactivate,
    remove,
    replaceSecret,
  };
}
