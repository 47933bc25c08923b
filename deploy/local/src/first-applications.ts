import { API_KEY_SCOPES, CLIENT_SCOPES, type Demo } from './demo.ts';

/** Of the program in README.md. */
const README_PROGRAM = 'http://localhost:4000';
/** Where browsers are redirected after signing out. */
const LOGGED_OUT = 'http://127.0.0.1:49152/';

/** The applications of demo.json, for identity to create. All belong to the admin. */
export function firstApplications({ admin, machine, web, spa, native, api_key: key }: Demo) {
  const common = { owner: admin.user_id, trusted: false, scopes: CLIENT_SCOPES };
  return [
    {
      ...common,
      clientId: machine.client_id,
      clientSecret: machine.client_secret,
      name: 'Demo machine',
      type: 'machine' as const,
      trusted: true,
      redirectUris: [],
      scopes: machine.scope.split(' '),
      apiKey: { key, scopes: API_KEY_SCOPES },
    },
    {
      ...common,
      clientId: web.client_id,
      clientSecret: web.client_secret,
      name: 'Demo web application',
      type: 'web' as const,
      redirectUris: [web.redirect_uri, `${README_PROGRAM}/callback`],
      postLogoutRedirectUris: [LOGGED_OUT],
    },
    {
      ...common,
      clientId: spa.client_id,
      name: 'Demo single-page application',
      type: 'spa' as const,
      redirectUris: [spa.redirect_uri],
      postLogoutRedirectUris: [LOGGED_OUT],
    },
    {
      ...common,
      clientId: native.client_id,
      name: 'Demo native application',
      type: 'native' as const,
      redirectUris: [native.redirect_uri],
      postLogoutRedirectUris: [LOGGED_OUT],
    },
  ];
}
