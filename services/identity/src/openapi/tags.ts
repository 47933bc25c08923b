/** The objects of the interface: what each is for, in the order of the document. */
export const TAGS: readonly { name: string; description: string }[] = Object.entries({
  'OAuth 2.0 and OpenID Connect':
    'Applications get tokens here, for themselves or for the people who sign in to them, and ask whether a token is valid.',
  '/api/v1/auth':
    'A login is a session that begins at the API, with a username and a password and without a page. Its token may do what the person may do.',
  '/api/v1/applications':
    'An application is a program that people sign in to or that calls the API: a website, an app, a machine, or an API that checks tokens. It has credentials, members who manage it, and users.',
  '/api/v1/transfers':
    'A transfer is the offer of an application to another person. The application changes its owner when that person accepts.',
  '/api/v1/memberships':
    'A membership lets a person manage an application of somebody else. It begins when the person accepts the invitation.',
  '/api/v1/resources':
    'A resource is an API or MCP server of your own that accepts tokens of Gatehouse. Applications request a token for it by its identifier (RFC 8707).',
  '/.well-known/ssf-configuration':
    'The metadata of the transmitter of security events (Shared Signals 1.0).',
  '/api/v1/ssf':
    'An event stream tells an application of ended sessions, changed credentials and deleted accounts of the people who use it, by Security Event Tokens (RFC 8417).',
  '/api/v1/registration-tokens':
    'A registration token lets programs register clients, which become your applications. It limits their scopes and their number.',
  '/oauth2/register':
    'A client registers itself here, and reads, changes and ends its registration (RFC 7591 and RFC 7592).',
  '/api/v1/sessions':
    'A session is a browser in which a person is signed in, or a login at the API. Its tokens stop working when it ends.',
  '/api/v1/consents':
    'A consent is what a person has allowed an application to do. The application loses its access when the consent ends.',
  '/api/v1/access':
    'This list has everything that acts for a person: sessions, consents, credentials, members and registration tokens. Use it to find out what to end after an account was misused.',
  '/api/v1/invitations':
    'An invitation is a mail with a link to create an account. It can bring a role and the membership of an application.',
  '/api/v1/audit':
    'The audit log records sign-ins and changes of accounts, applications and keys: the person, the time and the address.',
  '/api/v1/signing-keys':
    'A signing key signs the tokens that Gatehouse issues. Admins rotate the keys; tokens stay valid during a rotation.',
  '/api/v1/pictures': 'A picture is the photo of an account, which applications get as the claim `picture`.',
  '/api/v1/identity-providers':
    'An identity provider is another place where people have accounts, such as that of an organization. They sign in here with that account.',
  '/api/v1/trusted-issuers':
    'A trusted issuer signs tokens for programs elsewhere, such as the jobs of a CI. Applications authenticate with them, and need no secret.',
  '/api/v1/configuration/lease':
    'The lease of the configuration is held by the one program that applies a configuration file at a time.',
  '/api/v1/configuration/tokens':
    'A configuration token lets a deployer, an application that an admin has marked, apply a configuration file.',
  '/api/v1/impersonations':
    'An impersonation is a short token by which an admin acts as a user, with a reason that the audit log keeps.',
  '/api/v1/factors':
    'A factor is a passkey or an authenticator app of an account. Admins remove lost ones, and create links to set up a sign-in again.',
  '/api/v1/password-resets': 'A password reset is a mail with a link to choose another password.',
}).map(([name, description]) => ({ name, description }));
