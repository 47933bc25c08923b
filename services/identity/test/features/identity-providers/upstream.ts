import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createFormBrowser, type FormBrowser, type Page } from '@gatehouse/testing/form-browser';
import { listen } from '@gatehouse/testing/listen';
import { importJWK, type JWK, type JWTPayload, SignJWT } from 'jose';
import Provider, { interactionPolicy } from 'oidc-provider';
import type { IdentityProvider } from '../../../src/core/foundation/identity-provider.ts';
import { readIdentityProviders } from '../../../src/features/identity-providers/provider-settings.ts';
import { linkOf } from '../../pages.ts';

const CLIENT = { client_id: 'gatehouse', client_secret: 'the-secret-of-gatehouse-at-the-other-provider' };

/** Who signs in at the provider, and what it says of them. */
export type Person = {
  sub: string;
  email?: string;
  email_verified?: boolean | string;
  name?: string;
  picture?: string;
  amr?: string[];
  acr?: string;
};

function newKeys() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), alg: 'ES256', use: 'sig' }] };
}

/** A provider of OpenID Connect that nobody here wrote, oidc-provider alone, on a port of its own. Who comes is signed in at once. */
export async function startUpstream(t: { teardown(fn: () => unknown): void }, id = 'acme') {
  const state = {
    person: { sub: 'nobody' } as Person,
    /** Whether the person does not want to go on. */
    isCancelled: false,
    isDown: false,
    /** What becomes of the ID token on its way. */
    forge: undefined as ((idToken: string) => string | Promise<string>) | undefined,
    requests: [] as URL[],
  };
  let handle: ReturnType<Provider['callback']> | undefined;
  let jwks = newKeys();
  let current: Provider | undefined;
  const server = createServer((request, response) => {
    if (state.isDown) return request.socket.destroy();
    state.requests.push(new URL(request.url ?? '/', issuer));
    handle?.(request, response);
  });
  const issuer = `http://127.0.0.1:${await listen(t, server)}`;
  // Of two providers, one lets people choose an account.
  const policy = interactionPolicy.base();
  if (id === 'second')
    policy.add(new interactionPolicy.Prompt({ name: 'select_account', requestable: true }), 0);
  const prompts = id === 'second' ? { prompt_values_supported: ['login', 'select_account'] } : {};

  function start(origin: string): void {
    jwks = newKeys();
    const provider = new Provider(issuer, {
      clients: [
        {
          ...CLIENT,
          redirect_uris: [`${origin}/sign-in/providers/${id}/callback`],
          id_token_signed_response_alg: 'ES256',
          backchannel_logout_uri: `${origin}/sign-in/providers/${id}/backchannel-logout`,
          backchannel_logout_session_required: true,
        },
      ],
      jwks: jwks as never,
      cookies: { keys: ['a key of the cookies of the other provider'] },
      claims: {
        openid: ['sub', 'amr', 'acr'],
        email: ['email', 'email_verified'],
        profile: ['name', 'picture'],
      },
      features: {
        ...{ devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: false } },
        backchannelLogout: { enabled: true },
      },
      interactions: { policy, url: (_ctx, { uid }) => `/interaction/${uid}` },
      discovery: prompts,
      // By default, none to addresses of this machine.
      fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined } as never),
      pkce: { required: () => true },
      async findAccount(_ctx, accountId) {
        return { accountId, claims: async () => ({ ...state.person, sub: accountId }) as never };
      },
      async loadExistingGrant({ oidc }) {
        const { clientId = '' } = oidc.client ?? {};
        const grant = new provider.Grant({ clientId, accountId: oidc.session?.accountId ?? '' });
        grant.addOIDCScope('openid email profile');
        await grant.save();
        return grant;
      },
    });
    provider.use(async (ctx, next) => {
      if (ctx.path.startsWith('/interaction/')) {
        const { sub, amr, acr } = state.person;
        const login = { accountId: sub, ...(amr && { amr }), ...(acr && { acr }) };
        const result = state.isCancelled ? { error: 'access_denied' } : { login, select_account: {} };
        ctx.redirect(await provider.interactionResult(ctx.req, ctx.res, result));
        return;
      }
      await next();
      const body = ctx.body as { id_token?: string } | undefined;
      if (ctx.path === '/token' && state.forge !== undefined && body?.id_token !== undefined) {
        body.id_token = await state.forge(body.id_token);
      }
    });
    handle = provider.callback();
    current = provider;
  }

  return {
    issuer,
    state,
    /** Starts with new keys, and the deployment with this origin as its client. */
    start,
    /** A token that the provider has signed. */
    async sign(claims: JWTPayload, more: { typ?: string } = {}): Promise<string> {
      const [key] = jwks.keys;
      const header = { alg: 'ES256', kid: String(key?.kid), ...more };
      return new SignJWT(claims).setProtectedHeader(header).sign(await importJWK(key as JWK, 'ES256'));
    },
    /** Ends a session there, of which the deployment is told. Throws unless it accepts that. */
    async signOut(sub: string, sid: string): Promise<void> {
      const client = await current?.Client.find(CLIENT.client_id);
      await (client as unknown as { backchannelLogout(...of: string[]): Promise<void> }).backchannelLogout(
        sub,
        sid,
      );
    },
    /** The provider as the setting has it. */
    settings: (more: object = {}): IdentityProvider[] =>
      readIdentityProviders([{ id, label: id === 'acme' ? 'Acme' : id, issuer, ...CLIENT, ...more }]),
    /** A browser there. */
    browser: () => createFormBrowser(issuer),
  };
}
export type Upstream = Awaited<ReturnType<typeof startUpstream>>;

/** Presses the button of the provider on a page; returns the address that the browser is sent to. */
export async function leave(visitor: FormBrowser, page: Page, which = 'methods/acme"'): Promise<string> {
  return linkOf(await visitor.submit(page, {}, which), 'Continue to');
}

/** The address with which the provider sends the browser back. */
export async function respond(upstream: Upstream, url: string, browser = upstream.browser()): Promise<URL> {
  return (await browser.get(url)).url;
}

/** Signs in by the provider on the sign-in page of a request. */
export async function signInBy(
  upstream: Upstream,
  visitor: FormBrowser,
  person: Person,
  at = '/account',
): Promise<Page> {
  upstream.state.person = person;
  const url = await leave(visitor, await visitor.get(at));
  return visitor.get((await respond(upstream, url)).href);
}

/** Somebody whose address the provider has verified. */
export const verified = (sub: string, more: Partial<Person> = {}): Person => ({
  ...{ sub, email: `${sub}@elsewhere.example`, email_verified: true },
  ...more,
});
