/** A provider at which people sign in, as it is configured. */
export type IdentityProvider = {
  /** Its name in paths. The redirect URI that is registered there contains it. */
  id: string;
  /** Whether people can sign in with it and connect it. The accounts that are connected stay so. */
  isEnabled: boolean;
  /** The well-known provider that it is, for which the settings have defaults. */
  preset: string | undefined;
  /** Its name for people. */
  label: string;
  /** `oauth` has no ID tokens: who signs in is read from the API of GitHub. */
  protocol: 'openid' | 'oauth';
  /** The issuer of OpenID Connect Discovery 1.0 or RFC 9207. */
  issuer: string;
  clientId: string;
  authentication:
    | { method: 'client_secret_basic' | 'client_secret_post' | undefined; secret: string }
    /** A secret for each request, signed with this key (Sign in with Apple). */
    | { method: 'apple'; teamId: string; keyId: string; privateKey: string };
  scope: string;
  /** Asked for by providers that send names and addresses only so. */
  responseMode: 'form_post' | undefined;
  /** The `prompt` by which people choose an account there, or none with ''; by default, as its metadata says. */
  accountPrompt: 'select_account' | '' | undefined;
  /** The names of its claims. */
  claims: { email: string; emailVerified: string; name: string; picture: string };
  /** Whether names and pictures that people have not changed here follow those at the provider, at each sign-in. */
  refreshesProfile: boolean;
  /** Whether its addresses count as verified although it does not say that they are. */
  trustsEmail: boolean;
  /** Only people with a verified address of one of these domains may sign in by it, unless these restrict sign-ups alone; in lower case. */
  domains: readonly string[] | undefined;
  /** Whether people of the domains may still sign in with a password here. */
  allowsPasswords: boolean;
  /** For whom accounts are created: whoever may sign in, or people of the domains; by default, as for everybody else. */
  signUp: 'open' | 'domains' | 'off' | undefined;
  /** The values of its `amr` and `acr` that count as a sign-in with two factors. */
  secondFactor: { amr: readonly string[]; acr: readonly string[] };
  /** Whether it signs people in again when it is asked to, and says when it did. */
  reauthenticates: boolean;
};
