import { boolean, date, type EntityOf, id, number, text, value } from '@gatehouse/domain/fields';
import type { PublicKeySet } from '../../core/applications/application.ts';

/** `workload`: its tokens authenticate applications. `enterprise`: it speaks for people who sign in with it. */
export const KINDS = ['workload', 'enterprise'] as const;
export type IssuerKind = (typeof KINDS)[number];

/** The algorithms of tokens: with a key pair, and none that a public key could be taken for the secret of. */
export const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
export const MAX_ISSUERS = 100;

/** Somebody else, whose signed tokens count here. */
export const TRUSTED_ISSUER = {
  id: id(),
  /** Its URL, as tokens have it in `iss`. */
  issuer: text(),
  kinds: value<readonly IssuerKind[]>(),
  algorithms: value<readonly string[]>(),
  enabled: boolean(),
  /** Whether it cannot be deleted. */
  protected: boolean().default(false),
  preset: text().default(null),
  /** With neither keys nor their address, its discovery document says where they are. */
  jwks: value<PublicKeySet>().optional(),
  jwksUri: text().optional(),
  /** Whether it hands out the same token more than once. */
  reusesTokens: boolean(),
  /** The only scopes, and the only applications, for which its tokens count; null for all. */
  scopes: value<readonly string[] | null>().default(null),
  applications: value<readonly string[] | null>().default(null),
  /** Raised by whatever ends the tokens that rest on it. */
  generation: number(),
  /** The tokens of all generations below this one have been revoked. */
  revokedBelow: number(),
  createdAt: date(),
  updatedAt: date(),
};
export type TrustedIssuer = EntityOf<typeof TRUSTED_ISSUER>;

/** The part of it by which tokens are verified. `id` and `generation` change with its keys. */
export type WorkloadIssuer = Pick<
  TrustedIssuer,
  'id' | 'generation' | 'issuer' | 'algorithms' | 'jwks' | 'jwksUri'
>;

export type IssuerChanges = Partial<
  Pick<
    TrustedIssuer,
    | ('kinds' | 'algorithms' | 'enabled' | 'protected' | 'jwks' | 'jwksUri' | 'reusesTokens' | 'scopes')
    | 'applications'
  >
>;

/** The store of trusted issuers. Writes are durable when they resolve. */
export type TrustedIssuerStore = {
  /** The oldest first. */
  list(): Promise<TrustedIssuer[]>;
  find(id: string): Promise<TrustedIssuer | undefined>;
  /** Returns false if there is one with this URL. */
  insert(issuer: TrustedIssuer): Promise<boolean>;
  /** Changes it, and with `ends` raises its generation. Undefined if it was changed or removed since it was read. */
  change(read: TrustedIssuer, changes: IssuerChanges, ends: boolean): Promise<TrustedIssuer | undefined>;
  /** The tokens of all generations below this one have been revoked. */
  revoked(id: string, below: number): Promise<void>;
  /** Removes it unless it was changed since it was read; returns whether it did. */
  remove(read: Pick<TrustedIssuer, 'id' | 'generation'>): Promise<boolean>;
};

/** The `gid` of tokens that rest on an issuer. */
export const grantIdOf = ({ id, generation }: Pick<TrustedIssuer, 'id' | 'generation'>) =>
  `${id}.${generation}`;
