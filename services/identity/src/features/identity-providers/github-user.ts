import { UpstreamError, type UpstreamIdentity } from './upstream-identity.ts';

type Ask = (url: string, init: { headers: Record<string, string> }) => Promise<Response>;
type User = { id?: unknown; name?: unknown; avatar_url?: unknown };
type Address = { email?: unknown; primary?: unknown; verified?: unknown };

/** The user of an access token of GitHub, which has OAuth without OpenID Connect. */
export async function readGitHubUser(issuer: string, token: string, ask: Ask): Promise<UpstreamIdentity> {
  const { origin } = new URL(issuer);
  // GitHub Enterprise Server has the API at its own address.
  const api = origin === 'https://github.com' ? 'https://api.github.com' : `${origin}/api/v3`;
  async function get(path: string): Promise<unknown> {
    const headers = {
      authorization: `Bearer ${token}`,
      accept: 'application/vnd.github+json',
      'user-agent': 'Gatehouse',
    };
    const response = await ask(api + path, { headers });
    if (response.status === 200) return response.json();
    const failure = response.status >= 500 ? 'unavailable' : 'refused';
    throw new UpstreamError(failure, `${path} answered ${response.status}`);
  }
  const { id, name, avatar_url: picture } = Object(await get('/user')) as User;
  if (!Number.isSafeInteger(id)) throw new UpstreamError('refused', 'the user has no id');
  const addresses = await get('/user/emails');
  const primary = (Array.isArray(addresses) ? (addresses as Address[]) : []).find(
    (it) => it.primary === true,
  );
  return {
    issuer,
    // Not the name of the user, which can change, and go to somebody else.
    subject: String(id),
    email: typeof primary?.email === 'string' ? primary.email : undefined,
    isEmailVerified: primary?.verified === true,
    name: typeof name === 'string' && name !== '' ? name : undefined,
    sid: undefined,
    picture: typeof picture === 'string' ? picture : undefined,
    hasSecondFactor: false,
  };
}
