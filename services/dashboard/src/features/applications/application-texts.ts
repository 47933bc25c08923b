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
    how: 'It authenticates with a client secret and checks tokens by introspection. It gets no tokens itself.',
  },
};

/** Scopes for which a person signs in: of no use to an application that works by itself. */
const OF_PERSON: readonly string[] = [...OIDC_SCOPES, 'read:profile'];

/** What an application may ask for, and what it means. */
export const SCOPES = Object.entries(SCOPE_MEANINGS).map(([name, description]) => {
  return { name, description, personal: OF_PERSON.includes(name) };
});

/** What a new application of each type asks for unless it is changed. */
export const USUAL_SCOPES: Record<AppType, readonly string[]> = {
  web: OIDC_SCOPES,
  spa: OIDC_SCOPES,
  native: OIDC_SCOPES,
  machine: ['read:data'],
  resource: [],
};

/** What the choice of a profile changes, by the name of its pin; examples as the API returns them. */
export const PINS: Record<
  string,
  { path: string; description: string; profiles: Record<string, { title: string; shape: string }> }
> = {
  v1_users: {
    path: '/v1/users',
    description: 'The format of a user under /v1, and the paging of the list.',
    profiles: {
      A: {
        title: 'A: usernames, by offset',
        shape: `{ "data": [{
    "id": "usr_…",
    "username": "ann",
    "email": "ann@example.org",
    "createdAt": "2026-…",
    "updatedAt": "2026-…" }],
  "pagination": {
    "limit": 20, "offset": 0,
    "total": 1203 } }`,
      },
      E: {
        title: 'E: names, with PATCH',
        shape: `{ "id": "usr_…",
  "email": "ann@example.org",
  "name": "Ann Lee",
  "createdAt": "2026-…" }

(has no list: lists
answer as profile A)`,
      },
      G: {
        title: 'G: names, by page',
        shape: `{ "data": [{
    "id": "usr_…",
    "name": "Ann Lee",
    "email": "ann@example.org",
    "created_at": "2026-…" }],
  "meta": {
    "total": 1203,
    "page": 1, "limit": 20 } }`,
      },
    },
  },
  v2_users: {
    path: '/v2/users',
    description: 'The paging of the list of users under /v2.',
    profiles: {
      B2: {
        title: 'B2: by page',
        shape: `{ "data": [{
    "id": "usr_…",
    "email": "ann@example.org",
    "status": "active" }],
  "meta": {
    "total": 1203, "limit": 20,
    "page": 1, "pages": 61 } }`,
      },
      B1: {
        title: 'B1: an array, by offset',
        shape: `[{
  "id": "usr_…",
  "username": "ann",
  "email": "ann@example.org",
  "status": "active",
  "created_at": "2026-…" }]`,
      },
    },
  },
  items: {
    path: '/api/v1/items',
    description: 'The paging of the list of items.',
    profiles: {
      offset: {
        title: 'offset: an array',
        shape: `[{
  "id": "itm_…",
  "name": "colours",
  "value": ["red", "green"] }]`,
      },
      cursor: {
        title: 'cursor: pages by cursor',
        shape: `{ "data": [{
    "id": "itm_…",
    "name": "colours",
    "value": ["red"] }],
  "links": { "next": "/api/…" },
  "meta": {
    "totalItems": 1203,
    "hasNextPage": true } }`,
      },
    },
  },
  userinfo: {
    path: '/userinfo',
    description: 'The claims about a person, and the format of the time of the last change.',
    profiles: {
      interface: {
        title: 'interface: a timestamp as text',
        shape: `{ "sub": "usr_…",
  "name": "Ann Lee",
  "email": "ann@example.org",
  "updated_at":
    "2026-11-22T09:30:00.000Z" }`,
      },
      openid: {
        title: 'openid: seconds, as in OpenID Connect',
        shape: `{ "sub": "usr_…",
  "name": "Ann Lee",
  "preferred_username": "ann",
  "email": "ann@example.org",
  "updated_at": 1795339800 }`,
      },
    },
  },
};
