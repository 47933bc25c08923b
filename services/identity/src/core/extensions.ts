import type { RequestedBy } from '@gatehouse/server/requests';
import type { Revocation } from '@gatehouse/verify/revocations';
import type { Context } from 'koa';
import type { ScriptedPart } from '../pages/account/account-document.ts';
import type { Account } from './accounts/account.ts';
import type { UndoableChange } from './accounts/notice.ts';
import type { Application } from './applications/application.ts';
import type { ApplicationKeys } from './applications/application-keys.ts';
import type { AuditRecord } from './audit/audit.ts';
import type { AccessSource } from './authority/standing-access.ts';
import type { EndingGrant } from './oidc/adapter/oidc-adapter.ts';
import type { Logout } from './oidc/epochs/sign-outs.ts';
import type { FindResource } from './oidc/protected-resource.ts';
import type { ProviderExtension, RequestDetails } from './oidc/provider-options.ts';
import type { Support } from './revocations/derived-token-store.ts';
import type { AccountPageSection } from './sessions/account-router.ts';
import type { PageAfterSignIn } from './sessions/after-sign-in.ts';
import type { FactorList, SecurityPart } from './sessions/listed-factors.ts';
import type { ProgramSessions } from './sessions/program-sessions.ts';
import type { LostFactors, SecondFactorSource } from './sessions/second-factor.ts';
import type { SetUp } from './sessions/set-up.ts';
import type { SignInMethod } from './sessions/sign-in-method.ts';
import type { SignUpMethod } from './sessions/sign-up-method.ts';

/** The callbacks that features add to the core and to one another. Read when a request needs it. */
export type Extensions = {
  applicationKeys: ApplicationKeys[];
  /** Where applications are that nobody has registered here. */
  applicationSources: ApplicationSource[];
  /** The tokens of others by which applications authenticate. */
  clientAssertions: ClientAssertions[];
  /** Find the person who signs in here as a subject of somebody else's issuer. */
  linkedPeople: ((identity: { issuer: string; subject: string }) => Promise<LinkedPerson | undefined>)[];
  programs: ProgramSessions[];
  provider: ProviderExtension[];
  /** The details of a request on the consent page. */
  requestDetails: RequestDetails[];
  /** Where resources of others are, that tokens can be for. */
  resources: FindResource[];
  signInMethods: SignInMethod[];
  secondFactors: SecondFactorSource[];
  lostFactors: LostFactors[];
  /** The factors that people and admins see and remove. */
  factors: FactorList[];
  /** The methods that people can set up to sign in more strongly. */
  setUps: SetUp[];
  /** The parts of the page on how an account is signed in to, in their order there. */
  securityParts: SecurityPart[];
  /** Pages that can follow a sign-in. The first one that applies is shown. */
  pagesAfterSignIn: PageAfterSignIn[];
  signUpMethods: SignUpMethod[];
  /** The pages of an account in its navigation, in their order there. */
  accountSections: AccountPageSection[];
  /** Invisible parts of the profile page, after a change of the account. */
  savedProfileParts: ((account: Account) => ScriptedPart)[];
  /** The changes of how people sign in that a link in a mail undoes. */
  undoableChanges: UndoableChange[];
  /** The credentials of people beside the password, also where that is switched off. */
  credentials: Credentials[];
  /** Called with each entry of the audit log that this replica has stored; waited for unless the entry was buffered. */
  auditListeners: ((record: AuditRecord) => void | Promise<void>)[];
  /** The names of the destinations to which new entries of the audit log are exported. */
  auditDestinations: string[];
  /** Called and waited for at each end of a session at an application. */
  logoutListeners: ((logout: Logout) => Promise<void>)[];
  /** Called and waited for before a grant ends. */
  grantListeners: ((grant: EndingGrant) => Promise<void>)[];
  /** Called with each change of an account that users reports, around what the change ends. */
  accountListeners: ((change: ReportedChange, proceed: () => Promise<void>) => Promise<void>)[];
  /** Erase what they hold about an application that has been deleted, or has another owner. Repeatable. */
  applicationErasers: ((clientId: string) => Promise<unknown>)[];
  /** Called when it matters which public keys an application has. The fetching of those at a URL then begins, and the caller goes on. */
  publicKeyListeners: ((application: Pick<Application, 'id' | 'jwks'>) => void)[];
  /** Called for each revocation by any replica, more than once for some. */
  revocationListeners: ((revocation: Revocation) => void)[];
  /** The sources of the list of what acts for a person (GET /api/v1/access). */
  access: AccessSource<Account>[];
  /** The sections of the data that people download about themselves, in the order of the file. */
  personalData: PersonalDataSection[];
  /** Erase what they hold about a person who has been deleted. Durable when they resolve, and repeatable. */
  erasers: ((userId: string) => Promise<unknown>)[];
};

/** A source of applications with ids that no registered application has. */
export type ApplicationSource = {
  has(id: string): boolean;
  /**
   * As the application is known here. For a request from the address `requester`, whose person is to be asked by it, as it is now: this may
   * send a request to somebody else's server. Throws when it cannot be used by this request.
   */
  find(id: string, requester?: string): Promise<Application | undefined>;
};

/** Authenticates clients by tokens that others have signed. */
export type ClientAssertions = {
  /**
   * Replaces such a token in the form of a request by a secret for this request, and notes the client (see federated-client.ts). Leaves
   * other assertions alone. Throws `unauthenticated`.
   */
  accept(ctx: Context, form: URLSearchParams): Promise<void>;
  /** Whether what rests on this `gid` is in force; undefined for the grant of a person. */
  isInForce(grantId: string): Promise<boolean | undefined>;
  /** Whether tokens of this issuer authenticate applications. */
  isTrusted(issuer: string): Promise<boolean>;
};

export type LinkedPerson = {
  userId: string;
  /** The name of the identity provider for people. */
  provider: string;
  /** The revocations that end its tokens: when the person disconnects the identity, and when the provider no longer signs people in. */
  restsOn: readonly Support[];
};

/** A change of an account, as far as it concerns others. It may come again. */
export type ReportedChange = {
  id: string;
  user_id: string;
  reason: string;
  details?: Readonly<Record<string, unknown>>;
  by?: RequestedBy;
};

/** The credentials of one kind, for when their owner has lost the account to somebody else. */
export type Credentials = {
  /** Its name in the audit log. */
  name: string;
  /** Removes those of an account, or those that were set up since the time; returns how many there were. */
  removeAll(userId: string, since?: Date): Promise<number>;
  /** Puts back what was removed lately, if it was set up before the time; returns whether it did. */
  restore(userId: string, id: string, before: Date): Promise<boolean>;
};

/** A part of what is stored about a person, as an array in JSON: only what belongs to the person, and no secrets. */
export type PersonalDataSection = { name: string; rows(account: Account): AsyncIterable<unknown> };

export function createExtensions(): Extensions {
  return {
    applicationKeys: [],
    applicationSources: [],
    clientAssertions: [],
    linkedPeople: [],
    programs: [],
    provider: [],
    requestDetails: [],
    resources: [],
    signInMethods: [],
    secondFactors: [],
    lostFactors: [],
    factors: [],
    setUps: [],
    securityParts: [],
    pagesAfterSignIn: [],
    signUpMethods: [],
    accountSections: [],
    savedProfileParts: [],
    undoableChanges: [],
    credentials: [],
    auditListeners: [],
    auditDestinations: [],
    logoutListeners: [],
    grantListeners: [],
    accountListeners: [],
    applicationErasers: [],
    publicKeyListeners: [],
    revocationListeners: [],
    access: [],
    personalData: [],
    erasers: [],
  };
}

/** Adds those of a feature to all. */
export function addExtensions(all: Extensions, added: Partial<Extensions>): void {
  const lists = all as Record<string, unknown[]>;
  for (const [name, values] of Object.entries(added)) lists[name]?.push(...values);
}

/** Returns a function that finds out whether tokens of an issuer authenticate applications. */
export const isTrustedIssuer =
  ({ clientAssertions }: Pick<Extensions, 'clientAssertions'>) =>
  async (issuer: string): Promise<boolean> => {
    const trusted = await Promise.all(clientAssertions.map(({ isTrusted }) => isTrusted(issuer)));
    return trusted.includes(true);
  };
