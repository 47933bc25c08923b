/** An application as its examples need it. */
export type Sample = { base: string; clientId: string; redirectUri: string; scope: string };
export type Snippet = { id: string; title: string; before: string; code: string };

/** Without TLS, as on a developer's own machine, openid-client has to be told so. */
export const insecure = ({ base }: Sample) =>
  base.startsWith('http:') ? ',\n  undefined, { execute: [client.allowInsecureRequests] }' : '';

export const SECRET = 'Put the client secret into the environment variable CLIENT_SECRET first.';
