import { OIDC_SCOPES, SCOPE_MEANINGS } from '@gatehouse/tokens/scopes';
import type { AppType } from '../../api/application-types.ts';

/** The types of applications, in words. */
export const TYPES: Record<AppType, { name: string; short: string; description: string; how: string }> = {
  web: {
    name: 'Web application',
    short: 'web',
    description:
      'It runs on a server of yours, and people use it in a browser: Express, Django, Rails, Laravel.',
    how: 'People sign in by authorization code, and your server keeps a client secret.',
  },
  spa: {
    name: 'Single-page application',
    short: 'single-page',
    description: 'It runs in the browser, without a server of its own: React, Vue, Angular.',
    how: 'People sign in by authorization code with PKCE. There is no secret, as a browser cannot keep one.',
  },
  native: {
    name: 'Mobile or desktop application',
    short: 'native',
    description: 'It is installed on a device: iOS, Android, Windows, a command-line tool.',
    how: 'People sign in by authorization code with PKCE in the system’s browser. There is no secret.',
  },
  machine: {
    name: 'Machine-to-machine application',
    short: 'machine',
    description: 'It runs without a person who signs in: a job, a daemon, another service.',
    how: 'It gets tokens with a client secret (client credentials) or uses API keys.',
  },
  resource: {
    name: 'Resource server',
    short: 'resource server',
    description: 'Your own API, which clients call with access tokens of this deployment.',
    how: 'It authenticates with a client secret and checks tokens by introspection. It gets tokens only in exchange for those that people send to it.',
  },
};

/** Scopes for which a person signs in: of no use to an application that works by itself. */
const OF_PERSON: readonly string[] = [...OIDC_SCOPES, 'read:profile'];

/** The scopes that an application may request, and their descriptions. */
export const SCOPES = Object.entries(SCOPE_MEANINGS).map(([name, description]) => {
  return { name, description, personal: OF_PERSON.includes(name) };
});

const SIGN_IN = ['openid', 'profile', 'email'];

/** The scopes that are preselected for a new application of each type. */
export const USUAL_SCOPES: Record<AppType, readonly string[]> = {
  web: SIGN_IN,
  spa: SIGN_IN,
  native: SIGN_IN,
  machine: ['read:data'],
  resource: [],
};
