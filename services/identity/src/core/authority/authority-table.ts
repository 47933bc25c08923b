/** The epochs of an account; each change that ends something raises one or more of them. */
export type AccountEpoch = 'epoch' | 'sign_in_epoch' | 'recovery_epoch' | 'authority_epoch' | 'admin_epoch';

/** Events of the account that gave a capability, or that owns its application. */
export const ACCOUNT_EVENTS = {
  password_changed: 'the password is changed',
  recovered: 'a link for a new password is used',
  undone: '“This was not me” is used',
  signed_out: 'the person signs out',
  sessions_ended: 'all sessions are ended',
  credentials_ended: 'all secrets and keys are ended',
  everything_ended: 'all access is revoked',
  role_lowered: 'the role is lowered',
  deactivated: 'the account is deactivated',
  deleted: 'the account is deleted',
} as const;
/** Events of the application that a capability belongs to. */
export const APPLICATION_EVENTS = {
  transferred: 'the application is transferred',
  scopes_narrowed: 'scopes are removed',
  redirect_uri_added: 'a redirect URI is added',
  trust_withdrawn: 'the trust is withdrawn',
  application_deleted: 'the application is deleted',
} as const;
/** Events of the member who gave a capability. */
export const MEMBER_EVENTS = {
  member_lowered: 'the member becomes a viewer',
  member_removed: 'the member is removed or leaves',
} as const;
/** Events of other things that a capability rests on. */
export const OTHER_EVENTS = {
  key_revoked: 'the API key is revoked',
  secret_removed: 'the client secret is removed',
  rule_removed: 'the federated credential is removed',
  issuer_ended: 'the issuer is switched off or deleted',
  resource_redefined: 'the scopes of the API are redefined',
  resource_deleted: 'the API is deleted, and registered again',
  provider_unlinked: 'the provider is disconnected',
  passkey_removed: 'the passkey is removed',
  issuer_changed: 'an admin changes the issuer of the provider',
  provider_ended: 'an admin switches the provider off, or removes it',
} as const;
export const AUTHORITY_EVENTS = {
  ...ACCOUNT_EVENTS,
  ...APPLICATION_EVENTS,
  ...MEMBER_EVENTS,
  ...OTHER_EVENTS,
} as const;
export type AuthorityEvent = keyof typeof AUTHORITY_EVENTS;

export const OUTCOMES = ['ends', 'pauses', 'asks', 'bounded', 'stays'] as const;
export type Outcome = (typeof OUTCOMES)[number];

type Cells = Readonly<Record<string, readonly AuthorityEvent[]>>;
type Row = {
  name: string;
  givenBy: string;
  bound: string;
  /** The epochs of the giver's account that it rests on. */
  restsOn: readonly AccountEpoch[];
  /** The least that its giver must still have for it to hold: an active account, or this role. No membership makes somebody an owner. */
  needs: 'account' | 'admin' | 'developer' | 'owner';
  /** The outcome of each event that concerns it, and the reason. An event that is not listed does not concern it. */
  cells: Partial<Record<Outcome, Cells>>;
};

const GONE = 'its giver can no longer do anything, and activating the account brings nothing back';
const LIVES = 'nothing that it rests on changes';
const OTHER_OWNER = 'the new owner did not give it';
const WITH_APPLICATION = 'it belongs to the application';
const BY_ROLE =
  'it never exceeds the present roles of its owner and its giver, nor the role of its giver when it was made';
const BY_SCOPES = 'it never exceeds the present scopes of the application';
const STOPS_A_THIEF = 'somebody else may have given it';
const ASKED = 'the person asked for it';
const MEMBER_GONE =
  'its giver could no longer give it; the owner who removes the member, or makes them a viewer, can take it over';
/** An offer to somebody who has not accepted it ends with the sign-in by which it was sent. */
const NOT_ACCEPTED = {
  [STOPS_A_THIEF]: ['password_changed', 'recovered', 'undone'],
  [ASKED]: ['credentials_ended', 'everything_ended'],
  [GONE]: ['deactivated', 'deleted'],
  [OTHER_OWNER]: ['transferred'],
  [WITH_APPLICATION]: ['application_deleted'],
} as const satisfies Cells;
const KNOWN_TO_OWNER = 'production depends on it; the page after the new password offers to end it';

/** Events that end the access that a person gave to programs and other people. */
const GIVEN_BY_PERSON = {
  [STOPS_A_THIEF]: ['recovered', 'undone'],
  [ASKED]: ['credentials_ended', 'everything_ended'],
  [GONE]: ['deactivated', 'deleted'],
} as const;
/** Events that end the access that a sign-in gave. */
const GIVEN_BY_SIGN_IN = {
  [STOPS_A_THIEF]: ['password_changed', 'recovered', 'undone'],
  [ASKED]: ['sessions_ended', 'everything_ended'],
  [GONE]: ['deactivated', 'deleted'],
} as const;
/** Events that end the access that production depends on. A recovery is none of them. */
const GIVEN_FOR_PRODUCTION = {
  [ASKED]: ['credentials_ended', 'everything_ended'],
  [GONE]: ['deactivated', 'deleted'],
  [OTHER_OWNER]: ['transferred'],
  [WITH_APPLICATION]: ['application_deleted'],
} as const;
/** A webhook does not end at once, so that its owner can resume it. */
const PAUSES = {
  [STOPS_A_THIEF]: ['recovered', 'undone'],
  [ASKED]: ['credentials_ended', 'everything_ended'],
  [GONE]: ['deactivated'],
} as const;
/** A way to sign in is the person's own. */
const WAY_TO_SIGN_IN = {
  'it is the person’s own way in; the page lists it': ['recovered', 'credentials_ended', 'everything_ended'],
  'nobody signs in while the account is inactive': ['deactivated'],
  [LIVES]: ['password_changed', 'sessions_ended', 'role_lowered'],
} as const;

/** A capability that acts for an application, made by its owner, a developer or an admin. */
const APPLICATION_CREDENTIAL = {
  ends: {
    ...GIVEN_FOR_PRODUCTION,
    [MEMBER_GONE]: ['member_lowered', 'member_removed'],
  },
  bounded: { [BY_ROLE]: ['role_lowered'], [BY_SCOPES]: ['scopes_narrowed'] },
} as const satisfies Row['cells'];

/**
 * Everything that lets somebody act while its giver is away: who gave it, what bounds it, and what becomes of it when something happens to
 * what it rests on. `giverOf` (authority.ts) reads `restsOn` and `needs`; SECURITY.md and the test of the table are made of the rest.
 */
export const AUTHORITY = {
  session: {
    name: 'Session in a browser',
    givenBy: 'the person, by signing in',
    bound: 'the account',
    restsOn: ['sign_in_epoch'],
    needs: 'account',
    cells: {
      ends: {
        ...GIVEN_BY_SIGN_IN,
        [ASKED]: ['signed_out', ...GIVEN_BY_SIGN_IN[ASKED]],
        'it began with that, and is not the one in which the person does it': [
          'provider_unlinked',
          'passkey_removed',
        ],
      },
      stays: {
        'pages and tokens ask for the present role': ['role_lowered'],
        'the person uses the session to end them': ['credentials_ended'],
      },
    },
  },
  login: {
    name: 'Token of a login at the API',
    givenBy: 'the person, by the password',
    bound: 'the account',
    restsOn: ['epoch'],
    needs: 'account',
    cells: {
      ends: {
        [STOPS_A_THIEF]: ['password_changed', 'recovered', 'undone'],
        [ASKED]: ['sessions_ended', 'credentials_ended', 'everything_ended'],
        'a login carries the role that it began with': ['role_lowered'],
        [GONE]: ['deactivated', 'deleted'],
      },
    },
  },
  command_line: {
    name: 'Sign-in of the command line',
    givenBy: 'the person, on the page for the code of the command line',
    bound: 'the account; the key of the computer',
    restsOn: ['sign_in_epoch'],
    needs: 'account',
    cells: {
      ends: {
        ...GIVEN_BY_SIGN_IN,
        'it was allowed in a session that began with that': [
          ...['provider_unlinked', 'provider_ended', 'issuer_changed', 'passkey_removed'],
        ] as const,
      },
      bounded: { 'it never exceeds the present role of the person': ['role_lowered'] },
      stays: {
        'the person ends it among the applications of the account': ['signed_out'],
        'it is no credential of the person’s own applications': ['credentials_ended'],
      },
    },
  },
  consent: {
    name: 'Consent to an application, with its codes and refresh tokens',
    givenBy: 'the person, on the consent page',
    bound: 'the scopes, role and redirect URIs of the page; the role of the application’s owner',
    restsOn: ['sign_in_epoch'],
    needs: 'account',
    cells: {
      ends: {
        ...GIVEN_BY_SIGN_IN,
        'people allowed it to the previous owner': ['transferred'],
        [WITH_APPLICATION]: ['application_deleted'],
      },
      asks: {
        'people have not seen where the code goes': ['redirect_uri_added'],
        'people have not seen these descriptions of the scopes': ['resource_redefined', 'resource_deleted'],
      },
      bounded: {
        'it never exceeds the present role of the person': ['role_lowered'],
        'those of native applications with offline_access, and of devices, stay until the person ends them': [
          'signed_out',
        ],
        [BY_SCOPES]: ['scopes_narrowed'],
      },
      stays: { 'it is no credential of the person’s own applications': ['credentials_ended'] },
    },
  },
  client_secret: {
    name: 'Client secret',
    givenBy: 'the owner, a developer or an admin',
    bound: 'the scopes of the application; the roles of its owner and its giver',
    restsOn: ['authority_epoch'],
    needs: 'developer',
    cells: {
      ends: {
        ...APPLICATION_CREDENTIAL.ends,
        'the owner, a developer or an admin removed it': ['secret_removed'],
      },
      bounded: {
        ...APPLICATION_CREDENTIAL.bounded,
        'it then acts with its owner’s role, and its tokens end': ['trust_withdrawn'],
      },
      stays: {
        [KNOWN_TO_OWNER]: ['recovered', 'undone'],
        [LIVES]: ['password_changed', 'sessions_ended', 'key_revoked'],
      },
    },
  },
  machine_token: {
    name: 'Access token of a machine',
    givenBy: 'the application, by a secret or a key',
    bound: 'the scopes of the application; the roles of its owner and of the giver of the secret; an hour',
    restsOn: [],
    needs: 'account',
    cells: {
      ends: {
        ...APPLICATION_CREDENTIAL.ends,
        'the program asks for a new token, and gets it with the rights that remain': [
          'password_changed',
          'recovered',
          'undone',
          'role_lowered',
          'scopes_narrowed',
          'trust_withdrawn',
        ],
        'it rests on the rule and on the issuer': ['rule_removed', 'issuer_ended'],
      },
      stays: {
        'nothing that it rests on changes, and it expires within the hour': [
          'sessions_ended',
          'secret_removed',
        ],
      },
    },
  },
  exchanged_token: {
    name: 'Token of an application that acts for a person',
    givenBy: 'the owner of the application, by its setting token_exchange; the person, on the consent page',
    bound:
      'the setting; the present scopes and roles of the application and of the person; the time of the token that was exchanged',
    restsOn: [],
    needs: 'account',
    cells: {
      ends: {
        'the token that was exchanged ends with that, and it with the token': [
          ...['password_changed', 'recovered', 'undone', 'signed_out', 'sessions_ended'],
          ...['credentials_ended', 'everything_ended', 'role_lowered', 'deactivated', 'deleted'],
          ...['transferred', 'scopes_narrowed', 'application_deleted'],
        ] as const,
      },
      stays: {
        'it expires with the token that was exchanged, and there is no other one until the person is asked again':
          ['resource_redefined', 'resource_deleted'],
      },
    },
  },
  impersonation: {
    name: 'Token by which an admin acts as a user',
    givenBy: 'an admin, after a fresh sign-in and with a reason',
    bound: 'the role of the user; no accounts, and nothing that takes a fresh sign-in; 15 minutes',
    restsOn: [],
    needs: 'account',
    cells: {
      ends: {
        'the login of the admin ends with that': [
          ...['password_changed', 'recovered', 'undone', 'sessions_ended', 'credentials_ended'],
          ...['everything_ended', 'role_lowered', 'deactivated', 'deleted'],
        ] as const,
      },
    },
  },
  public_keys: {
    name: 'Public keys of an application (private_key_jwt)',
    givenBy: 'the owner or an admin',
    bound: 'the scopes of the application; the role of its owner',
    restsOn: ['authority_epoch'],
    needs: 'owner',
    cells: {
      ends: {
        ...GIVEN_FOR_PRODUCTION,
      },
      bounded: { [BY_ROLE]: ['role_lowered'], [BY_SCOPES]: ['scopes_narrowed'] },
      stays: {
        [KNOWN_TO_OWNER]: ['recovered', 'undone'],
        [LIVES]: ['password_changed', 'sessions_ended', 'member_lowered', 'member_removed'],
      },
    },
  },
  federated_credential: {
    name: 'Federated credential (tokens of a trusted issuer)',
    givenBy: 'the owner or an admin; the issuer is trusted by an admin',
    bound:
      'tokens of the issuer that match the rule; the scopes of the application and of the issuer; the roles of its owner and its giver',
    restsOn: ['authority_epoch'],
    needs: 'owner',
    cells: {
      ends: {
        ...GIVEN_FOR_PRODUCTION,
        'the owner or an admin removed it, and its tokens end': ['rule_removed'],
        'nothing that the issuer signs counts, and its tokens end': ['issuer_ended'],
      },
      bounded: { [BY_ROLE]: ['role_lowered'], [BY_SCOPES]: ['scopes_narrowed'] },
      stays: {
        [KNOWN_TO_OWNER]: ['recovered', 'undone'],
        [LIVES]: ['password_changed', 'sessions_ended', 'secret_removed', 'member_lowered', 'member_removed'],
      },
    },
  },
  identity_assertion: {
    name: 'Token by an identity assertion (ID-JAG)',
    givenBy: 'an issuer by which the person signs in here; an admin trusts it to speak for people',
    bound: 'the assertion; the scopes of the issuer and of the application; the person’s role; an hour',
    restsOn: ['epoch'],
    needs: 'account',
    cells: {
      ends: {
        [STOPS_A_THIEF]: ['password_changed', 'recovered', 'undone'],
        [ASKED]: ['credentials_ended', 'everything_ended'],
        'it carries the role that it began with': ['role_lowered'],
        [GONE]: ['deactivated', 'deleted'],
        'the person disconnected the account by which the issuer speaks for them': ['provider_unlinked'],
        'nobody signs in by the provider, or by this issuer of it': ['provider_ended', 'issuer_changed'],
        'nothing that the issuer signs counts, and its tokens end': ['issuer_ended'],
        [OTHER_OWNER]: ['transferred'],
        'the application asks for another one': ['scopes_narrowed'],
        [WITH_APPLICATION]: ['application_deleted'],
      },
      stays: {
        'no session here stands behind it; the person can disconnect the account': ['sessions_ended'],
      },
    },
  },
  assertion_rules: {
    name: 'Setting identity_assertions of an application',
    givenBy: 'an admin',
    bound:
      'assertions for the servers, scopes and APIs of the setting, for people who sign in to the application',
    restsOn: ['authority_epoch', 'admin_epoch'],
    needs: 'admin',
    cells: {
      ends: {
        'only an admin can give it': ['role_lowered'],
        ...GIVEN_FOR_PRODUCTION,
      },
      stays: {
        'scopes here say nothing about the other server': ['scopes_narrowed'],
        [LIVES]: ['password_changed', 'recovered', 'undone', 'sessions_ended', 'redirect_uri_added'],
      },
    },
  },
  issued_assertion: {
    name: 'Identity assertions for another authorization server (ID-JAG)',
    givenBy:
      'the person, by signing in to the application; an admin allows it by the setting identity_assertions',
    bound:
      'the client ID, scopes and APIs of the setting; 5 minutes, in which nothing ends one; the other server ends what it gives for one',
    restsOn: ['sign_in_epoch'],
    needs: 'account',
    cells: {
      ends: {
        ...GIVEN_BY_SIGN_IN,
        [ASKED]: ['signed_out', ...GIVEN_BY_SIGN_IN[ASKED]],
        [OTHER_OWNER]: ['transferred'],
        [WITH_APPLICATION]: ['application_deleted'],
      },
      stays: {
        'roles and scopes here say nothing about the other server': ['role_lowered', 'scopes_narrowed'],
        'it is no credential of the person’s own applications': ['credentials_ended'],
      },
    },
  },
  api_key: {
    name: 'API key',
    givenBy: 'the owner, a developer or an admin',
    bound: 'its scopes; the scopes of the application; the roles of its owner and its giver',
    restsOn: ['authority_epoch'],
    needs: 'developer',
    cells: {
      ends: {
        ...APPLICATION_CREDENTIAL.ends,
        'the owner, a developer or an admin revoked it': ['key_revoked'],
        'it acted in its own right, which takes trust': ['trust_withdrawn'],
      },
      bounded: APPLICATION_CREDENTIAL.bounded,
      stays: {
        [KNOWN_TO_OWNER]: ['recovered', 'undone'],
        [LIVES]: ['password_changed', 'sessions_ended', 'redirect_uri_added', 'secret_removed'],
      },
    },
  },
  member: {
    name: 'Membership of an application',
    givenBy: 'the owner or an admin; the person accepts it',
    bound: 'the role of the membership',
    restsOn: ['authority_epoch'],
    needs: 'owner',
    cells: {
      ends: {
        ...GIVEN_FOR_PRODUCTION,
        'the owner, an admin or the member ended it': ['member_removed'],
      },
      bounded: { 'it then has the role of a viewer': ['member_lowered'] },
      stays: {
        [KNOWN_TO_OWNER]: ['recovered', 'undone'],
        [LIVES]: ['password_changed', 'sessions_ended', 'role_lowered', 'scopes_narrowed'],
      },
    },
  },
  member_invitation: {
    name: 'Invitation to an application',
    givenBy: 'the owner or an admin',
    bound: 'one application, one person, the role of the invitation',
    restsOn: ['epoch', 'authority_epoch', 'recovery_epoch'],
    needs: 'owner',
    cells: {
      ends: {
        ...NOT_ACCEPTED,
        'its giver has another role': ['role_lowered'],
      },
      stays: { [LIVES]: ['sessions_ended', 'scopes_narrowed', 'redirect_uri_added'] },
    },
  },
  acceptance: {
    name: 'Acceptance of a membership',
    givenBy: 'the member',
    bound: 'the membership',
    restsOn: ['authority_epoch'],
    needs: 'account',
    cells: {
      ends: { [GONE]: ['deleted'] },
      asks: {
        'the membership is an invitation again until the person accepts it': [
          'credentials_ended',
          'everything_ended',
          'deactivated',
        ],
      },
      stays: { [LIVES]: ['password_changed', 'recovered', 'undone', 'sessions_ended', 'role_lowered'] },
    },
  },
  registration_token: {
    name: 'Registration token (initial access token)',
    givenBy: 'the person',
    bound: 'its scopes, uses and time; the role of the person; machines only where it says so',
    restsOn: ['authority_epoch', 'recovery_epoch'],
    needs: 'account',
    cells: {
      ends: {
        ...GIVEN_BY_PERSON,
      },
      bounded: { 'clients get no more than the present role allows': ['role_lowered'] },
      stays: { [LIVES]: ['password_changed', 'sessions_ended'] },
    },
  },
  resource_application: {
    name: 'Application of somebody else that a resource lists',
    givenBy: 'the owner of the resource, or an admin while they are one',
    bound: 'the scopes of the resource; of a person, what they allow',
    restsOn: ['authority_epoch', 'recovery_epoch'],
    needs: 'account',
    cells: {
      ends: {
        ...GIVEN_BY_PERSON,
        [OTHER_OWNER]: ['transferred'],
        [WITH_APPLICATION]: ['application_deleted'],
      },
      stays: { [LIVES]: ['password_changed', 'sessions_ended'] },
    },
  },
  registration_access_token: {
    name: 'Registration access token of a client',
    givenBy: 'the person whose registration token it was',
    bound: 'the scopes that the client has',
    restsOn: ['authority_epoch', 'recovery_epoch'],
    needs: 'account',
    cells: {
      ends: {
        ...GIVEN_FOR_PRODUCTION,
        [STOPS_A_THIEF]: ['recovered', 'undone'],
      },
      bounded: { 'the client cannot take back what its owner removed': ['scopes_narrowed'] },
      stays: {
        'it gives the client no scope': ['role_lowered'],
        [LIVES]: ['password_changed', 'sessions_ended', 'redirect_uri_added'],
      },
    },
  },
  set_up_link: {
    name: 'Link to set up a sign-in again',
    givenBy: 'an admin',
    bound: 'one account, once, 24 hours',
    restsOn: ['epoch', 'authority_epoch', 'recovery_epoch', 'admin_epoch'],
    needs: 'admin',
    cells: {
      ends: {
        [STOPS_A_THIEF]: ['password_changed', 'recovered', 'undone'],
        [ASKED]: ['credentials_ended', 'everything_ended'],
        'only an admin can give it': ['role_lowered'],
        [GONE]: ['deactivated', 'deleted'],
      },
      stays: { 'the admin is still an admin': ['sessions_ended'] },
    },
  },
  invitation: {
    name: 'Invitation to create an account',
    givenBy: 'an admin',
    bound: 'one account with the role of the invitation, once, 7 days',
    restsOn: ['epoch', 'authority_epoch', 'recovery_epoch', 'admin_epoch'],
    needs: 'admin',
    cells: {
      ends: {
        ...GIVEN_BY_PERSON,
        [STOPS_A_THIEF]: ['password_changed', 'recovered', 'undone'],
        'only an admin can give it': ['role_lowered'],
      },
      stays: { 'the admin is still an admin': ['sessions_ended'] },
    },
  },
  invitation_membership: {
    name: 'Membership of an application in such an invitation',
    givenBy: 'an admin; the person accepts it by creating the account',
    bound:
      'one application while its owner stays, the role of the membership; the invitation’s address and 7 days',
    restsOn: ['epoch', 'authority_epoch', 'recovery_epoch'],
    needs: 'owner',
    cells: {
      ends: {
        ...NOT_ACCEPTED,
        'it ends with the invitation': ['role_lowered'],
      },
      stays: { [LIVES]: ['sessions_ended', 'scopes_narrowed', 'redirect_uri_added'] },
    },
  },
  transfer: {
    name: 'Offer of an application',
    givenBy: 'the owner or an admin',
    bound: 'one application, unchanged since the offer; one recipient; 7 days',
    restsOn: ['epoch', 'authority_epoch', 'recovery_epoch'],
    needs: 'owner',
    cells: {
      ends: {
        ...NOT_ACCEPTED,
        'the recipient was shown another role': ['role_lowered'],
        'the recipient was shown another application': ['scopes_narrowed', 'redirect_uri_added'],
      },
      stays: { [LIVES]: ['sessions_ended'] },
    },
  },
  trust: {
    name: 'Trust in a machine, which acts in its own right',
    givenBy: 'an admin, for the deployment',
    bound: 'the scopes that an admin gave; the role that the owner had then',
    restsOn: ['authority_epoch', 'admin_epoch'],
    needs: 'admin',
    cells: {
      ends: {
        'the owner has a lower role than at the grant, or the admin is none any more': ['role_lowered'],
        'its owner or its admin can no longer do anything, and activating the account brings nothing back': [
          'deactivated',
          'deleted',
        ],
        'the admin takes back what they gave; another one takes it over before': [
          'credentials_ended',
          'everything_ended',
        ],
        [OTHER_OWNER]: ['transferred'],
        'an admin withdrew it': ['trust_withdrawn'],
        [WITH_APPLICATION]: ['application_deleted'],
      },
      bounded: { [BY_SCOPES]: ['scopes_narrowed'] },
      stays: {
        [LIVES]: ['password_changed', 'recovered', 'undone', 'sessions_ended'],
      },
    },
  },
  deployer: {
    name: 'Deployer, an application that applies configuration files in the name of an admin',
    givenBy: 'an admin, to an application of their own, after a fresh sign-in',
    bound:
      'the requests that apply a configuration file, without accounts, members, invitations and its own credentials; 15 minutes a token',
    restsOn: ['authority_epoch', 'recovery_epoch', 'admin_epoch'],
    needs: 'admin',
    cells: {
      ends: {
        [STOPS_A_THIEF]: ['recovered', 'undone'],
        'the admin is none any more': ['role_lowered'],
        'the admin can no longer do anything, and activating the account brings nothing back': [
          'deactivated',
          'deleted',
        ],
        'the admin takes back what they gave': ['credentials_ended', 'everything_ended'],
        [OTHER_OWNER]: ['transferred'],
        [WITH_APPLICATION]: ['application_deleted'],
      },
      stays: {
        [LIVES]: ['password_changed', 'sessions_ended'],
      },
    },
  },
  application_webhook: {
    name: 'Webhook or event stream that an application made',
    givenBy: 'the giver of the key, secret, public keys or federated credential that the application used',
    bound:
      'the events that the application may read, within the scopes of that credential; the roles of its owner and its giver',
    restsOn: ['authority_epoch', 'recovery_epoch'],
    needs: 'developer',
    cells: {
      ends: {
        [OTHER_OWNER]: ['transferred'],
        [GONE]: ['deleted'],
      },
      pauses: {
        ...PAUSES,
        'the credential that made it has ended': [
          'key_revoked',
          'secret_removed',
          'rule_removed',
          'issuer_ended',
          'member_lowered',
          'member_removed',
        ],
      },
      bounded: { [BY_ROLE]: ['role_lowered'], [BY_SCOPES]: ['scopes_narrowed'] },
      stays: { [LIVES]: ['password_changed', 'sessions_ended'] },
    },
  },
  personal_webhook: {
    name: 'Webhook of a person',
    givenBy: 'the person',
    bound: 'the events that the person’s applications may read, and those about sign-ins and credentials',
    restsOn: ['authority_epoch', 'recovery_epoch'],
    needs: 'account',
    cells: {
      ends: { [GONE]: ['deleted'] },
      pauses: {
        ...PAUSES,
      },
      bounded: {
        [BY_ROLE]: ['role_lowered'],
        'it gets the events of the applications that the person has now': ['transferred'],
      },
      stays: { [LIVES]: ['password_changed', 'sessions_ended', 'key_revoked'] },
    },
  },
  linked_identity: {
    name: 'Connected account of another provider',
    givenBy: 'the person, by signing in there',
    bound: 'signing in to the account',
    restsOn: [],
    needs: 'account',
    cells: {
      ends: {
        'the person disconnected it': ['provider_unlinked'],
        [GONE]: ['deleted'],
      },
      pauses: {
        'another issuer may use the same subjects for other people; it works again once the provider has its earlier issuer':
          ['issuer_changed'],
      },
      bounded: { 'one that was connected in the last 72 hours ends': ['undone'] },
      stays: WAY_TO_SIGN_IN,
    },
  },
  passkey: {
    name: 'Passkey',
    givenBy: 'the person, after a fresh sign-in',
    bound: 'signing in to the account',
    restsOn: [],
    needs: 'account',
    cells: {
      ends: {
        'the person or an admin removed it': ['passkey_removed'],
        [GONE]: ['deleted'],
      },
      bounded: { 'one that was added in the last 72 hours ends': ['undone'] },
      stays: WAY_TO_SIGN_IN,
    },
  },
} as const satisfies Record<string, Row>;
export type GivenCapability = keyof typeof AUTHORITY;
