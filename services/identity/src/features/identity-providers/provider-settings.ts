import { createPrivateKey } from 'node:crypto';
import { isIP } from 'node:net';
import { bodyValidator } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import { emailKey } from '@gatehouse/domain/folded-key';
import { type Static, Type } from 'typebox';
import type { IdentityProvider } from '../../core/foundation/identity-provider.ts';
import { isOfManyOrganizations } from './upstream-identity.ts';

const Text = Type.Optional(Type.String({ minLength: 1, maxLength: 2048 }));
const List = Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 253 })));
/** A provider in the setting and at the API. A member that is misspelt is refused: it could be the one that keeps strangers out. */
export const ProviderSettings = Type.Object(
  {
    preset: Type.Optional(Type.String({ enum: ['google', 'microsoft', 'github', 'apple'] })),
    id: Text,
    enabled: Type.Optional(Type.Boolean()),
    label: Text,
    issuer: Text,
    client_id: Type.String({ minLength: 1 }),
    client_secret: Text,
    token_endpoint_auth_method: Type.Optional(
      Type.String({ enum: ['client_secret_basic', 'client_secret_post'] }),
    ),
    team_id: Text,
    key_id: Text,
    private_key: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })),
    scope: Text,
    claims: Type.Optional(
      Type.Object(
        { email: Text, email_verified: Text, name: Text, picture: Text },
        { additionalProperties: false },
      ),
    ),
    refresh_profile: Type.Optional(Type.Boolean()),
    trust_email: Type.Optional(Type.Boolean()),
    domains: List,
    passwords: Type.Optional(Type.Boolean()),
    sign_up: Type.Optional(Type.String({ enum: ['open', 'domains', 'off'] })),
    second_factor: Type.Optional(Type.Object({ amr: List, acr: List }, { additionalProperties: false })),
    reauthentication: Type.Optional(Type.Boolean()),
    protected: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
export type ProviderSettings = Static<typeof ProviderSettings>;
const readSettings = bodyValidator(ProviderSettings);

const OPENID = { protocol: 'openid', scope: 'openid email profile', reauthenticates: true } as const;
/** These do not say when somebody signed in, however they are asked. */
const SILENT = { ...OPENID, reauthenticates: false } as const;
/** They do not list the prompts that they support. */
const CHOICE = { accountPrompt: 'select_account' } as const;
const PRESETS = {
  google: { ...SILENT, ...CHOICE, label: 'Google', issuer: 'https://accounts.google.com' },
  // For accounts of all organizations and persons; an organization's own issuer has its id in the place of `common`.
  microsoft: {
    ...{ ...SILENT, ...CHOICE },
    label: 'Microsoft',
    issuer: 'https://login.microsoftonline.com/common/v2.0',
  },
  // The issuer by which GitHub identifies itself in responses (RFC 9207).
  github: {
    ...CHOICE,
    protocol: 'oauth',
    scope: 'read:user user:email',
    reauthenticates: false,
    label: 'GitHub',
    issuer: 'https://github.com/login/oauth',
  },
  apple: {
    ...SILENT,
    scope: 'openid email',
    responseMode: 'form_post',
    accountPrompt: '',
    label: 'Apple',
    issuer: 'https://appleid.apple.com',
  },
} as const;
type Preset = Partial<Pick<IdentityProvider, 'label' | 'issuer' | 'responseMode' | 'accountPrompt'>> &
  Pick<IdentityProvider, 'protocol' | 'scope' | 'reauthenticates'>;

/** In the setting, and as many at the API. */
export const MAX_PROVIDERS = 20;
/** The names of other ways to sign in, with which paths are made and the last way is told. */
const RESERVED = ['passkey', 'password'];

/** Reads the setting. Throws an error whose message says what is wrong, and quotes no value. */
export function readIdentityProviders(value: unknown): IdentityProvider[] {
  if (!Array.isArray(value)) throw new Error('must be a list');
  if (value.length > MAX_PROVIDERS) throw new Error(`must have at most ${MAX_PROVIDERS} providers`);
  const providers = value.map((entry, i) => {
    try {
      return providerOf(readSettings(entry));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      throw new Error(`is wrong in provider ${i + 1}: ${error.message.replace(/\.$/, '')}`);
    }
  });
  if (new Set(providers.map(({ id }) => id)).size < providers.length) {
    throw new Error('has two providers with the same id');
  }
  return providers;
}

/** The provider with these settings. Throws `invalid`, with the member that is wrong. */
export function providerOf(entry: ProviderSettings): IdentityProvider {
  const preset: Preset = entry.preset === undefined ? OPENID : PRESETS[entry.preset as keyof typeof PRESETS];
  const { id = entry.preset, label = preset.label, issuer = preset.issuer, domains } = entry;
  if (id === undefined || !/^[a-z][a-z0-9-]{0,31}$/.test(id)) {
    throw wrong('id', 'must have up to 32 letters a to z, digits and hyphens, and begin with a letter');
  }
  if (RESERVED.includes(id)) throw wrong('id', `must not be ${id}, which is a way to sign in by itself`);
  if (label === undefined) throw wrong('label', 'is required: the name that people see');
  // It is in the subject of the mail that an account was connected, which would not be sent.
  if (/\p{Cc}|[\u2028\u2029]/u.test(label)) throw wrong('label', 'must be one line');
  if (issuer === undefined || !isIssuer(issuer)) {
    throw wrong('issuer', 'must be a URL that begins with https://, without query and fragment');
  }
  if (entry.trust_email === true && isOfManyOrganizations(issuer)) {
    throw wrong('trust_email', 'needs the issuer of your own organization: others could claim any address');
  }
  if (domains?.length === 0)
    throw wrong('domains', 'must have at least one domain: leave it out for everybody');
  if (domains?.some((domain) => domain.includes('@') || !domain.includes('.'))) {
    throw wrong('domains', 'must be names such as example.com');
  }
  if (entry.sign_up === 'domains' && !domains?.length)
    throw wrong('domains', 'must have at least one domain, as new accounts are for these only');
  return {
    isEnabled: entry.enabled ?? true,
    ...{ id, preset: entry.preset, label, issuer, protocol: preset.protocol, clientId: entry.client_id },
    authentication: authenticationOf(entry),
    scope: entry.scope ?? preset.scope,
    responseMode: preset.responseMode,
    accountPrompt: preset.accountPrompt,
    claims: {
      email: entry.claims?.email ?? 'email',
      emailVerified: entry.claims?.email_verified ?? 'email_verified',
      name: entry.claims?.name ?? 'name',
      picture: entry.claims?.picture ?? 'picture',
    },
    refreshesProfile: entry.refresh_profile ?? false,
    trustsEmail: entry.trust_email ?? false,
    domains: domains?.map((domain) => emailKey(`@${domain}`).slice(1)),
    allowsPasswords: entry.passwords ?? true,
    signUp: entry.sign_up as IdentityProvider['signUp'],
    secondFactor: { amr: entry.second_factor?.amr ?? [], acr: entry.second_factor?.acr ?? [] },
    reauthenticates: entry.reauthentication ?? preset.reauthenticates,
  };
}

function authenticationOf(entry: ProviderSettings): IdentityProvider['authentication'] {
  const { client_secret: secret, token_endpoint_auth_method: method } = entry;
  if (entry.preset !== 'apple') {
    if (secret === undefined) throw wrong('client_secret', 'is required');
    return { method: method as 'client_secret_basic' | 'client_secret_post' | undefined, secret };
  }
  const { team_id: teamId, key_id: keyId, private_key: privateKey = '' } = entry;
  if (teamId === undefined || keyId === undefined)
    throw wrong(teamId === undefined ? 'team_id' : 'key_id', 'is required');
  // Environment files have no line breaks.
  const pem = privateKey.replaceAll('\\n', '\n');
  if (!isP256(pem)) throw wrong('private_key', 'must be the key of Apple (PEM, P-256)');
  return { method: 'apple', teamId, keyId, privateKey: pem };
}

function isP256(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}

/** HTTPS, except on this machine. */
function isIssuer(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.search !== '' || url.hash !== '' || url.username !== '') return false;
  const isLocal = url.hostname === 'localhost' || (isIP(url.hostname) === 4 && /^127\./.test(url.hostname));
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLocal);
}

/** The error of one member of the settings. */
export const wrong = (field: string, message: string) =>
  new ServiceError('invalid', `${field} ${message}.`, { details: [{ field, message }] });
