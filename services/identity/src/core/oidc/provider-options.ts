import type { Acr } from '@gatehouse/verify/sign-in';
import type { Content } from '@gatehouse/web/html';
import type { JWK } from 'jose';
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { Configuration, ErrorOut, Interaction, KoaContextWithOIDC } from 'oidc-provider';
import type { Account, Accounts } from '../accounts/account.ts';
import type { Application } from '../applications/application.ts';
import type { Applications } from '../applications/applications.ts';
import type { OwnerPermissions } from '../applications/ownership.ts';
import type { Authority } from '../authority/authority.ts';
import type { Revocations } from '../revocations/revocations.ts';
import type { SigningAlgorithm } from '../tokens/signing-algorithms.ts';
import type { FindActing } from './acting.ts';
import type { AccessTokenHandles } from './adapter/access-token-handles.ts';
import type { OidcStore } from './adapter/oidc-adapter.ts';
import type { SignOuts } from './epochs/sign-outs.ts';
import type { FindResource } from './protected-resource.ts';
import type { RequiredSecondFactor } from './strength.ts';

/** In seconds. */
export type Lifetimes = {
  accessToken: number;
  code: number;
  /** Absolute for public clients, sliding for confidential ones. */
  refreshToken: number;
  /** How long a browser that is not used stays signed in. */
  session: number;
};

export type ProviderOptions = {
  issuer: string;
  keys: { keys: JWK[] };
  /** The first signs cookies, and all are accepted. */
  cookieKeys: readonly string[];
  accessTokenAlgorithm: SigningAlgorithm;
  /** From which the successors of rotated refresh tokens are made. */
  successorKey: Buffer;
  lifetimes: Lifetimes;
  applications: Pick<Applications, 'find' | 'checkSecret' | 'used'>;
  /** Finds a resource of somebody else, that tokens can be for. */
  findResource: FindResource;
  /** Finds the applications that act for people with tokens for resources. */
  findActing: FindActing;
  /** The caller whose token is introspected, by the handle that stands for it. */
  callerOfHandle: AccessTokenHandles['callerOf'];
  /** Called before a credential for a resource of somebody else is given away. */
  noteIssued: Revocations['noteIssued'];
  accounts: Pick<Accounts, 'find'>;
  /** Whether this is the secret of one of our own services; undefined when there is no such service. */
  acceptsService(id: string, secret: string): boolean | undefined;
  store: OidcStore;
  authority: Pick<Authority<Account>, 'giverOf'>;
  /** The part that ends sessions. */
  signOuts: SignOuts;
  extensions: readonly ProviderExtension[];
  /** The acr of the strongest sign-in that an account is set up for. */
  strongestFactor(userId: string): Promise<Acr>;
  secondFactorRequirement: RequiredSecondFactor;
  /** The id of the browser that makes a request. */
  browserId(ctx: Context): string;
};

/** The options that a feature adds to oidc-provider whenever that is built. */
export type ProviderExtension = {
  /** One of the features has them. */
  pages?: ProviderPages;
  /** Adds to the configuration. */
  configure?(configuration: Configuration & { features: object }): void;
  attach?(provider: Provider, permissions: RequestPermissions): void;
};

/** The permissions of the client of a request, and the scopes that it may ask for. */
export type Permitted = OwnerPermissions<Account> & { application: Application; scopes: readonly string[] };

/** Finds them. Throws `unauthorized_client` if the owner of the client is inactive. */
export type RequestPermissions = (
  ctx: KoaContextWithOIDC,
  clientId: string,
) => Promise<Permitted | undefined>;

/** Describes what people should know about a request before they allow it. */
export type RequestDetails = (ctx: Context, interaction: Interaction) => Promise<Content>;

/** The pages for requests that oidc-provider answers itself. */
export type ProviderPages = {
  error(ctx: KoaContextWithOIDC, error: ErrorOut, thrown: Error): void;
  signOut(ctx: KoaContextWithOIDC, form: { action: string; xsrf: string }): void | Promise<void>;
  signedOut(ctx: KoaContextWithOIDC): void | Promise<void>;
  interactionUrl(interaction: Interaction): string;
};

/** A parameter of an authorization request: the person wants to use an account other than the current one. */
export const ANOTHER_ACCOUNT = 'another_account';
/** Another one: the person wants to create an account. */
export const SIGN_UP = 'sign_up';
