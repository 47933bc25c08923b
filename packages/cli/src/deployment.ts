import { spawn } from 'node:child_process';
import { type ApiClient, createApiClient, type Send } from './api-client.ts';
import { CliError, UsageError } from './errors.ts';
import { cell, type Output } from './output.ts';
import type { Profile, Profiles } from './profiles.ts';
import { type Credentials, type SignIn, SignInEndedError, type Strength } from './sign-in.ts';

/** The time before its expiry at which a token is renewed, in milliseconds. */
const MARGIN_MS = 30_000;

export type DeploymentOptions = {
  /** The address from the options or the environment, like the profile and the token. */
  url: string | undefined;
  profile: string;
  token: string | undefined;
  userAgent: string;
  profiles: Profiles;
  signIn: SignIn;
  output: Output;
  /** Opens the page for a sign-in. Undefined without a terminal. */
  openPage: ((url: string) => void) | undefined;
};

/** The deployment that a command is for, and the person's sign-in there. */
export type Deployment = ReturnType<typeof createDeployment>;

export function createDeployment(options: DeploymentOptions) {
  const { profiles, signIn, output, userAgent, token } = options;
  const name = options.profile;
  const wanted = options.url === undefined ? undefined : addressOf(options.url);
  const { url, issuer, profile, credentials, end, signedOut } = createStoredSignIn({
    ...{ profiles, signIn, name, wanted },
  });

  /** Shows the page of a sign-in, and waits until the person has allowed it. */
  async function connect(
    issuer: string,
    show: (text: string, page: object) => void,
    asked?: Strength | { resource: string },
  ) {
    const flow = await signIn.start(issuer, asked);
    const page = pageOf(issuer, flow.page.verification_uri_complete);
    show(`Open ${page}\nand enter the code: ${output.paint(cell(flow.page.user_code), 'bold')}`, flow.page);
    options.openPage?.(page);
    return output.progress('Waiting until you allow it on the page', flow.wait());
  }

  /** Stores new tokens as the profile, with the person whom they are for. */
  async function store(urls: Profile['urls'], tokens: Credentials): Promise<Profile> {
    const [url] = urls;
    const client = createApiClient({
      url,
      userAgent,
      send: (...request) => signIn.send(url, tokens, ...request),
    });
    const { body } = await client.request('GET', '/userinfo');
    const found = { urls, userId: body.sub, username: body.preferred_username, credentials: tokens };
    await profiles.exclusively(() => profiles.write(name, found));
    return found;
  }

  /** Replaces the stored sign-in by a stronger or newer one of the same person. */
  async function stepUp(before: Profile, strength: Strength): Promise<void> {
    const at = before.urls[0];
    output.note('This takes a fresh sign-in.');
    const tokens = await connect(at, output.note, strength);
    if (subjectOf(tokens.accessToken) !== before.userId) {
      await signIn.revoke(at, tokens.refreshToken);
      throw new CliError(
        `Sign in as ${before.username} on the page, or run \`gatehouse login\` to act as somebody else.`,
      );
    }
    await store(before.urls, tokens);
    await signIn.revoke(at, before.credentials.refreshToken);
  }

  const send: Send = async (...request) => {
    const before = await credentials();
    const response = await signIn.send(before.urls[0], before.credentials, ...request);
    const strength = strengthOf(response);
    if (strength === undefined) {
      if (response.status === 401) throw signedOut(before.urls[0]);
      return response;
    }
    await stepUp(before, strength);
    const { urls, credentials: renewed } = await credentials();
    return signIn.send(urls[0], renewed, ...request);
  };

  /** A client of the API with a bearer token. */
  const apiWith = (url: string, bearer: string) =>
    createApiClient({ url, userAgent, token: async () => bearer });

  return {
    credentials,
    apiWith,
    url,
    issuer,
    /** Tokens for an API of the person, who allows the first one on the page. */
    async resourceCredentials(resource: string): Promise<Profile> {
      const owner = await profile();
      const entry = `${name} ${resource}`;
      if ((await profiles.read(entry)) === undefined) {
        const tokens = await connect(owner.urls[0], output.note, { resource });
        await profiles.exclusively(() => profiles.write(entry, { ...owner, credentials: tokens }));
      }
      return credentials(entry);
    },

    /** A client of the API with GATEHOUSE_TOKEN, or else with the sign-in of the profile. */
    async api(): Promise<ApiClient> {
      if (token === undefined) return createApiClient({ url: (await profile()).urls[0], userAgent, send });
      if (wanted === undefined)
        throw new UsageError('GATEHOUSE_TOKEN is set: set GATEHOUSE_URL as well, or add --url.');
      return apiWith(wanted, token);
    },

    /** Signs a person in, and replaces the sign-in of the profile. */
    async login(show: (text: string, page: object) => void): Promise<Profile> {
      const given = await url();
      const found = addressOf(await signIn.issuerOf(given));
      const tokens = await connect(found, show);
      // The earlier sign-in may have ended, or its deployment may be gone.
      await end().catch(() => {});
      return store(found === given ? [found] : [found, given], tokens);
    },

    /** Ends the sign-in. Rejects when the deployment cannot be reached; the profile is removed even then. */
    async logout(): Promise<Profile> {
      const found = await profile();
      await end();
      return found;
    },
  };
}

/** The sign-in that is stored for a profile. */
function createStoredSignIn({
  profiles,
  signIn,
  name,
  wanted,
}: Pick<DeploymentOptions, 'profiles' | 'signIn'> & { name: string; wanted: string | undefined }) {
  const url = async () =>
    wanted ?? (await profiles.read(name))?.urls[0] ?? Promise.reject(new UsageError(NO_URL));

  /** The issuer of the deployment's tokens, by the profile or else by its metadata. */
  async function issuer(): Promise<string> {
    const found = await profiles.read(name);
    const isOwn = found !== undefined && (wanted === undefined || found.urls.includes(wanted));
    return isOwn ? found.urls[0] : addressOf(await signIn.issuerOf(await url()));
  }

  const signedOut = (at = wanted) => {
    const of = at === undefined ? '' : ` of ${at}`;
    const where = wanted === undefined ? '' : ` --url ${wanted}`;
    const as = name === 'default' ? '' : ` --profile ${name}`;
    return new CliError(`You are signed out${of}. Run \`gatehouse login${where}${as}\`.`);
  };

  /** The stored profile. Its tokens are sent to its own deployment only. */
  async function profile(entry = name): Promise<Profile> {
    const found = await profiles.read(entry);
    if (found === undefined || (wanted !== undefined && !found.urls.includes(wanted))) throw signedOut();
    return found;
  }

  /** The tokens of the profile, which are renewed when they are about to expire. */
  async function credentials(entry = name): Promise<Profile> {
    const isFresh = (it: Profile) => it.credentials.expiresAt - MARGIN_MS > Date.now();
    const found = await profile(entry);
    if (isFresh(found)) return found;
    return profiles.exclusively(async () => {
      const latest = await profile(entry);
      if (isFresh(latest)) return latest;
      const renewed = await signIn.refresh(latest.urls[0], latest.credentials).catch((error) => {
        throw error instanceof SignInEndedError ? signedOut(latest.urls[0]) : error;
      });
      await profiles.write(entry, { ...latest, credentials: renewed });
      return { ...latest, credentials: renewed };
    });
  }

  /** Removes the stored tokens of the profile, including those for single APIs, and then revokes them. */
  async function end(): Promise<void> {
    const entries = (await profiles.names()).filter((it) => it === name || it.startsWith(`${name} `));
    const found = await Promise.all(entries.map((entry) => profiles.read(entry)));
    await profiles.exclusively(() => profiles.remove(entries));
    await Promise.all(found.map((it) => it && signIn.revoke(it.urls[0], it.credentials.refreshToken)));
  }

  return { url, issuer, profile, credentials, end, signedOut };
}

const NO_URL = 'Name the deployment with --url or GATEHOUSE_URL, such as --url http://localhost:3000.';

/** An address without the slash at its end. Throws a UsageError for one to which tokens would be sent without encryption. */
export function addressOf(text: string): string {
  if (!URL.canParse(text))
    throw new UsageError(`${text} is not a URL, such as https://gatehouse.example.com.`);
  const { protocol, hostname, href } = new URL(text);
  const isLocal = /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
  if (protocol !== 'https:' && !(protocol === 'http:' && isLocal)) {
    throw new UsageError(`${text} must begin with https://, since tokens are sent there.`);
  }
  return href.replace(/\/+$/, '');
}

/** The address of the page for a sign-in. Throws a CliError for one of another deployment. */
function pageOf(issuer: string, page: string): string {
  const { href, origin } = new URL(addressOf(page));
  if (origin === new URL(issuer).origin) return href;
  throw new CliError(`${issuer} asks you to sign in at ${origin}, which is another deployment.`);
}

/** The strength that a response asks for (RFC 9470 §3); undefined if it asks for none. */
function strengthOf(response: Response): Strength | undefined {
  const challenge = response.headers.get('www-authenticate') ?? '';
  if (!challenge.includes('error="insufficient_user_authentication"')) return undefined;
  const found = challenge.matchAll(/\b(max_age|acr_values)="?([^",]+)/g);
  return Object.fromEntries([...found].map(([, name, value]) => [name, value]));
}

const subjectOf = (jwt: string): unknown =>
  JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()).sub;

/** Opens a page in the person's browser, if there is one. */
export function openInBrowser(url: string, platform: NodeJS.Platform): void {
  const [command, ...args]: [string, ...string[]] =
    platform === 'win32'
      ? ['rundll32', 'url.dll,FileProtocolHandler', url]
      : [platform === 'darwin' ? 'open' : 'xdg-open', url];
  const child = spawn(command, args, { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
