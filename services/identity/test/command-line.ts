import type { FormBrowser } from '@gatehouse/testing/form-browser';
import { decodeJwt } from 'jose';
import * as client from 'openid-client';
import { CLI_CLIENT } from '../src/core/oidc/clients/client-metadata.ts';
import { type build, PASSWORD } from './build.ts';
import { heading, isSignIn } from './pages.ts';

type Built = Awaited<ReturnType<typeof build>>;
export type Connected = Awaited<ReturnType<typeof connectCommandLine>>;

const SCOPE = 'openid read:users write:users read:data write:data read:all manage:apps';

export function commandLine({ base }: Pick<Built, 'base'>): Promise<client.Configuration> {
  return client.discovery(new URL(base), CLI_CLIENT, undefined, client.None(), {
    execute: [client.allowInsecureRequests],
  });
}

/** Enters the code of the command line in a browser, and confirms that it is the right one. */
export async function enterUserCode(visitor: FormBrowser, user_code: string) {
  const verify = await visitor.submit(await visitor.get('/device'), { user_code });
  return { verify, page: await visitor.submit(verify, {}) };
}

/** Signs the command line in as the person whose browser it is; an unknown browser signs in on the way. */
export async function connectCommandLine(
  built: Pick<Built, 'base'>,
  visitor: FormBrowser,
  { username = 'ann', scope: asked = SCOPE, ...more }: Record<string, string> = {},
) {
  const config = await commandLine(built);
  const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair());
  const parameters = { ...more, ...(asked === '' ? {} : { scope: asked }) };
  const response = await client.initiateDeviceAuthorization(config, parameters);
  let { verify, page } = await enterUserCode(visitor, response.user_code);
  const isAsked = isSignIn(page);
  if (isAsked) page = await visitor.submit(page, { username, password: PASSWORD });
  if (heading(page) !== 'Your device is connected') throw new Error(page.html);
  let tokens = await client.pollDeviceAuthorizationGrant(config, { ...response, interval: 0.1 }, undefined, {
    DPoP,
  });
  /** The status of a request of the command line. */
  const call = (method = 'GET', path = '/api/v1/applications', body?: object): Promise<number> =>
    client
      .fetchProtectedResource(
        config,
        tokens.access_token,
        new URL(built.base + path),
        method,
        body && JSON.stringify(body),
        new Headers({ 'content-type': 'application/json' }),
        { DPoP },
      )
      .then((it) => it.status)
      .catch((error) => error.status);
  /** Renews the tokens. Returns the roles that they have then, or undefined when the sign-in has ended. */
  async function renew(): Promise<string | undefined> {
    const { refresh_token: token = '' } = tokens;
    const renewed = await client.refreshTokenGrant(config, token, undefined, { DPoP }).catch(() => undefined);
    if (renewed === undefined) return undefined;
    tokens = renewed;
    return String(decodeJwt(tokens.access_token).roles);
  }
  return { verify, isAsked, tokens, DPoP, call, renew };
}
