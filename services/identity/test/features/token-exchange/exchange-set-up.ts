import type { Test } from 'tap';
import { build, PASSWORD } from '../../build.ts';
import { type JsonResponse, tokensFor } from '../../tokens.ts';

export const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
export type Client = { client_id: string; client_secret: string };
type Rule = { resource: string; scopes: string[] };

/** Two APIs of ann, one of the admin, a web application through which paula has allowed the first one, and agents of ann. */
export async function setUpExchange(t: Pick<Test, 'teardown'>, options: Parameters<typeof build>[1] = {}) {
  const built = await build(t, options);
  const { call, form, base } = built;
  const logins = { admin: await built.login('admin'), ann: await built.login('ann') };
  const paula = await built.createPerson('paula');
  const redirect_uri = 'https://app.example.org/callback';

  async function register(name: string, by: string = logins.ann, more: object = {}): Promise<string> {
    const identifier = `https://${name}.example.com/api`;
    const scopes = ['read', 'write'].map((it) => ({ name: `${name}:${it}`, description: `${it} ${name}` }));
    const { status, body } = await call('POST', '/api/v1/resources', by, {
      identifier,
      name,
      scopes,
      ...more,
    });
    if (status !== 201) throw new Error(JSON.stringify(body));
    return identifier;
  }
  const calendar = await register('calendar');
  const files = await register('files');
  const api = `${base}/api`;
  const POLICY: Rule[] = [
    { resource: calendar, scopes: ['calendar:read'] },
    { resource: files, scopes: ['files:read'] },
    { resource: api, scopes: ['read:users', 'read:data'] },
  ];

  /** An application that may exchange tokens; by default for all three. */
  async function agent(more: object = {}, by = logins.ann): Promise<Client> {
    const draft = {
      name: 'Agent',
      type: 'machine',
      scopes: ['read:users', 'write:users'],
      token_exchange: POLICY,
    };
    return built.createApplication(by, { ...draft, ...more });
  }
  const web = {
    ...(await built.createApplication(logins.ann, {
      ...{ name: 'Web', type: 'web', scopes: ['openid', 'read:users'], redirect_uris: [redirect_uri] },
    })),
    redirect_uri,
  };
  /** The tokens of a person for an API, by default paula's for the calendar. */
  const tokens = ({
    client = web,
    browser = built.browser(),
    username = 'paula',
    headers = {},
    ...more
  }: {
    client?: typeof web;
    browser?: ReturnType<typeof built.browser>;
    username?: string;
    headers?: Record<string, string>;
    scope?: string;
    resource?: string;
  } = {}) =>
    tokensFor(built, {
      ...{ client, username, password: PASSWORD, headers, browser },
      more: { scope: 'openid calendar:read calendar:write', resource: calendar, ...more },
    });

  /** Exchanges a token. */
  const exchange = (
    subject_token: string,
    client: Client,
    more: Record<string, string> = {},
    headers: Record<string, string> = {},
  ): Promise<JsonResponse> =>
    form(
      { grant_type: EXCHANGE, subject_token, subject_token_type: ACCESS_TOKEN, ...client, ...more },
      headers,
    );
  /** Exchanges a token for one that must be given. */
  async function exchanged(...args: Parameters<typeof exchange>): Promise<string> {
    const { status, body } = await exchange(...args);
    if (status !== 200) throw new Error(`the exchange answered ${status} ${JSON.stringify(body)}`);
    return String(body.access_token);
  }
  return {
    built,
    logins,
    paula,
    api,
    calendar,
    files,
    web,
    POLICY,
    register,
    agent,
    tokens,
    exchange,
    exchanged,
  };
}
