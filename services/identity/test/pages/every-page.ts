import { invalidFields } from '@gatehouse/api/http/schema';
import { PHISHING_RESISTANT } from '@gatehouse/tokens/acr';
import type { Content } from '@gatehouse/web/html';
import { PASSWORD_CHANGED, RECOVERY_USED } from '../../src/core/accounts/account-notices.ts';
import {
  endCredentialsQuestion,
  endOthersQuestion,
} from '../../src/features/account/access/access-questions.ts';
import { applicationsPage } from '../../src/features/account/access/applications-page.ts';
import { sessionsPage } from '../../src/features/account/access/sessions-page.ts';
import { ACCOUNT_PAGES } from '../../src/features/account/account-pages.ts';
import { accountDeletedPage, deletionQuestion, lastAdminPage } from '../../src/features/account/deletion.ts';
import { exportPage } from '../../src/features/account/export/export-routes.ts';
import { passwordPage, passwordPart } from '../../src/features/account/password-page.ts';
import { pictureForms, picturePage } from '../../src/features/account/picture/picture-page.ts';
import { FIELDS, profilePage } from '../../src/features/account/profile-page.ts';
import {
  EMAIL_CHANGED,
  emailOfOtherAccountPage,
  emailVerifiedPage,
  emailVerifyPage,
  linkInvalidPage,
  undonePage,
  undoPage,
} from '../../src/features/account/recovery/mailed-link-pages.ts';
import {
  credentialsEndedPage,
  forgottenPasswordPage,
  forgottenPasswordSentPage,
  newPasswordDonePage,
  newPasswordPage,
} from '../../src/features/account/recovery/new-password-pages.ts';
import { APP_CHANGES } from '../../src/features/authenticator-app/app-notices.ts';
import {
  authenticatorAppPart,
  recoveryCodesPage,
  recoveryCodesPart,
  removeAppQuestion,
  renewCodesQuestion,
  setUpPage,
} from '../../src/features/authenticator-app/authenticator-app-pages.ts';
import { qrCode } from '../../src/features/authenticator-app/qr-code.ts';
import { breachedPasswordPage } from '../../src/features/breached-passwords/breached-password-page.ts';
import {
  connectedPage,
  deviceRequestDetails,
  enterCodePage,
  notConnectedPage,
  USER_CODE_PROBLEMS,
  verifyCodePage,
} from '../../src/features/device/device-pages.ts';
import {
  lostFactorsPage,
  recoveryOutcomePage,
  removeFactorsQuestion,
  stopRecoveryPage,
} from '../../src/features/factor-recovery/factor-recovery-pages.ts';
import { CONNECTED_ACCOUNT_CHANGES } from '../../src/features/identity-providers/connected-account-notices.ts';
import { messagesOf } from '../../src/features/identity-providers/provider-messages.ts';
import {
  CONNECTED_ACCOUNTS,
  connectedAccountsPage,
  disconnectQuestion,
} from '../../src/features/identity-providers/provider-pages.ts';
import {
  invitationAcceptedPage,
  invitationInvalidPage,
} from '../../src/features/invitations/invitation-pages.ts';
import { PASSKEY_CHANGES } from '../../src/features/passkeys/passkey-notices.ts';
import {
  addPasskeyPage,
  PASSKEYS,
  passkeysPage,
  passkeysPart,
  removePasskeyQuestion,
  signInFields,
  signUpFields,
  upgradePage,
} from '../../src/features/passkeys/passkey-pages.ts';
import { rememberedBrowsersPart, securityPage } from '../../src/features/security/security-page.ts';
import { consentPage } from '../../src/features/sign-in/consent-page.ts';
import { type CodeProblem, secondFactorPage } from '../../src/features/sign-in/second-factor-page.ts';
import { setUpPage as strongerPage } from '../../src/features/sign-in/set-up-page.ts';
import {
  afterSignInPage,
  chooseAccountPage,
  type SignInProblem,
  signInPage,
} from '../../src/features/sign-in/sign-in-page.ts';
import { accountQuestionPage, standaloneQuestionPage } from '../../src/pages/account/confirmation-pages.ts';
import { SECURITY } from '../../src/pages/account/security-path.ts';
import { createAccountPage } from '../../src/pages/create-account-page.ts';
import { type ErrorPageKind, errorPage } from '../../src/pages/error-page.ts';
import { redirectPage } from '../../src/pages/redirect-page.ts';
import { signedOutPage, signOutPage, stillSignedInPage } from '../../src/pages/sign-out-pages.ts';

const ERRORS: ErrorPageKind[] = [
  'expired_sign_in',
  'expired_form',
  'unknown_application',
  'bad_redirect_address',
  'bad_sign_out',
  'bad_sign_out_address',
  'not_found',
  'too_many_attempts',
  'unavailable',
  'generic',
];
const SIGN_IN_PROBLEMS: SignInProblem[] = [
  { kind: 'wrong_password' },
  { kind: 'too_many_attempts', retryAfter: 95 },
  { kind: 'known_devices_only' },
  { kind: 'unavailable' },
  { kind: 'too_late' },
  { kind: 'method', title: 'This passkey did not work', advice: 'Sign in with your password.' },
];

const CODE_PROBLEMS: CodeProblem[] = [
  { kind: 'wrong_code' },
  { kind: 'too_many_codes', retryAfter: 840 },
  { kind: 'known_browsers_only' },
];
const UNDOABLE_CHANGES = [
  ...[EMAIL_CHANGED, PASSWORD_CHANGED, RECOVERY_USED],
  ...[...PASSKEY_CHANGES, ...APP_CHANGES, ...CONNECTED_ACCOUNT_CHANGES],
];
const QR_CODE = await qrCode(
  'otpauth://totp/Gatehouse:ada?secret=ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
  'QR code',
);

/** Every page in each of its states, by name. `of` is asked for each text that comes from outside. */
export function everyPage(of: (text: string) => string): Map<string, string> {
  const form = { action: '/interaction/1', csrf: of('csrf'), hidden: { [of('token')]: of('secret') } };
  const application = { name: of('Lighthouse'), host: of('lighthouse.example') };
  const problem = (field: string) => ({ field, message: of(`about ${field}`) });
  const breached = { form, application, username: of('ada'), next: '/oauth2/authorize/next' };
  const frame = {
    username: of('ada'),
    signOut: form,
    sections: [
      { path: ACCOUNT_PAGES.profile, label: 'Profile' },
      { path: ACCOUNT_PAGES.password, label: 'Password' },
      { path: ACCOUNT_PAGES.applications, label: 'Applications' },
      { path: ACCOUNT_PAGES.sessions, label: 'Sessions' },
      { path: PASSKEYS, label: 'Passkeys' },
      { path: SECURITY, label: 'Security' },
    ],
  };
  const after = (notice: string) => ({ ...frame, notice });
  const links = { forgottenPassword: '/forgotten', createAccount: '/create' };
  const methods = [{ form, fields: signInFields({ challenge: of('challenge') }) }];
  const deviceRequest = {
    ...{ at: new Date(), address: of('192.0.2.1'), userAgent: of('Television/1.0') },
    isSameAddress: false,
  };
  const signUp = {
    methods: [
      signUpFields({
        options: { rp: { id: of('rp') } },
        user: { name: 'user', value: of('usr') },
        unknown: of('pk'),
      }),
    ],
    scripts: ['/account/passkey.js'],
  };
  const signIn = { form, application, links, methods, scripts: ['/account/passkey.js'], cancel: true };
  const picture = {
    ...{ upload: form, remove: form },
    problems: [],
    ...{ picture: 'https://id.example.org/account/pictures/p', path: '/account/pictures/p' },
  };
  const values = Object.fromEntries(FIELDS.map((name) => [name, of(name)]));
  const profile = {
    frame,
    picture: pictureForms(picture),
    form,
    values,
    asksForPassword: true,
    sendLinkAgain: form,
    export: '/export',
    deletion: '/delete',
  };
  const scopes = [
    'openid',
    'profile',
    'email',
    'roles',
    'read:users',
    'write:users',
    'read:data',
    of('else'),
  ];
  const consent = { form, application, scopes, links: { useAnotherAccount: '/other' } };
  const at = new Date('2026-03-05T14:07:09Z');
  const session = { address: of('::1'), createdAt: at, lastUsedAt: at, end: form };
  const here = { ...session, current: true };
  const away = { ...session, current: false };
  const devices = [
    { name: of('Firefox on Windows'), uses: [here, away], endAll: form },
    { name: 'Safari on iPhone', uses: [away, away], endAll: form },
    { name: 'Unknown device', uses: [away], endAll: form },
  ];
  const login = { ...away, address: '2001:db8::1' };
  const programs = [
    { name: of('curl/8.5.0'), uses: [login], endAll: form },
    { name: 'Unknown program', uses: [login, login], endAll: form },
  ];
  const own = [
    {
      ...{ name: of('Lighthouse'), clientId: of('app_1'), hasPublicKeys: true },
      secrets: [
        { label: of('web-1'), lastFour: 'x7Qa', createdAt: at, lastUse: { at, address: '2001:db8::1' } },
      ],
      keys: [{ name: of('For the nightly run'), lastFour: null, lastUse: { at, address: null } }],
      federated: [{ name: of('CI'), issuer: 'https://ci.example', lastUse: null }],
      lastUse: null,
    },
    {
      name: of('Spa'),
      clientId: 'app_2',
      hasPublicKeys: false,
      secrets: [],
      keys: [],
      federated: [],
      lastUse: null,
    },
  ];
  const passkey = {
    ...{ userId: 'usr_1', credentialId: 'c', publicKey: 'k', counter: 0, transports: [], createdAt: at },
    ...{ isSyncable: true, rename: form },
  };
  const synced = { ...passkey, id: 'pky_1', name: of('iPhone'), isSynced: true, lastUsedAt: at };
  const onKey = { ...passkey, id: 'pky_2', name: 'Key', isSynced: false, lastUsedAt: null };
  const adding = {
    ...{ frame, form, options: { rp: of('gatehouse') }, name: of('Chrome on Linux') },
    scripts: ['/account/passkey.js'],
  };
  const factors = [
    {
      ...{ name: 'authenticator_app', amr: [], verify: async () => true },
      field: {
        label: of('Code from your authenticator app'),
        hint: of('The six digits that the app shows now.'),
        inputmode: 'numeric',
        autocomplete: 'one-time-code',
      },
    },
    {
      ...{ name: 'recovery_code', amr: [], verify: async () => true },
      field: { label: 'Recovery code', hint: 'One of the codes that you kept.', autocomplete: 'off' },
    },
  ];
  const secondFactor = {
    ...{ form, application, username: of('ada'), factors, methods: [], scripts: [] },
    links: { signIn: '/sign-in' },
  };
  const stronger = { form, application, username: of('ada') };
  const setUps = [
    {
      path: '/account/passkeys/add',
      acr: PHISHING_RESISTANT,
      label: () => 'Add a passkey',
      hint: () => of('Sign in.'),
    },
  ];
  const app = {
    ...{ userId: 'usr_1', id: 'app_1', sealedSecret: 's', lastStep: 1, createdAt: at, recoverySalt: 's' },
    ...{ lastUsedAt: at, recoveryCodes: ['a', 'b'], codesRenewedAt: null },
  };
  const appSetUp = { frame, form, qrCode: QR_CODE, secret: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567' };
  const security = (parts: Record<string, Content>) =>
    securityPage({
      frame,
      parts: Object.entries(parts).map(([title, content]) => ({ title, content })),
    });
  const connected = {
    ...{ id: 'acme', label: of('Acme'), isOnlyWay: false, connect: form },
    linked: { label: of('ada@acme.example'), createdAt: new Date(at), lastUsedAt: null },
  };
  const notConnected = { ...connected, id: 'other', linked: undefined };
  const { name, host } = application;
  const authorized = { name, hosts: [host], scopes, since: at, revoke: form };
  return new Map([
    [
      'sign in',
      signInPage({
        ...signIn,
        application: undefined,
        links: { forgottenPassword: '/forgotten' },
        methods: [],
        cancel: false,
      }),
    ],
    ['sign in, application', signInPage(signIn)],
    ['sign in, preview', signInPage({ ...signIn, isPreview: true })],
    ['sign in, prefilled', signInPage({ ...signIn, username: of('ada') })],
    [
      'sign in, notice',
      signInPage({
        ...signIn,
        notice: { title: 'Sign in to connect Acme', advice: of('An account exists.') },
      }),
    ],
    [
      'choose an account',
      chooseAccountPage({ form, application, username: of('ada'), links: { useAnotherAccount: '/other' } }),
    ],
    ['sign in again', signInPage({ ...signIn, signedInAs: of('ada') })],
    [
      'passkey upgrade',
      upgradePage({ ...breached, options: { rp: of('rp') }, scripts: ['/account/passkey.js'] }),
    ],
    ['breached password', breachedPasswordPage(breached)],
    [
      'breached password, problems',
      breachedPasswordPage({
        ...breached,
        error: invalidFields([problem('current_password'), problem('new_password')]),
      }),
    ],
    ['after signing in', afterSignInPage(messagesOf('Acme').linkedElsewhere, '/oauth2/authorize/next')],
    ...SIGN_IN_PROBLEMS.map((it): [string, string] => [
      `sign in, ${it.kind}`,
      signInPage({ ...signIn, username: of('ada'), problem: it }),
    ]),
    ['second factor', secondFactorPage(secondFactor)],
    ['second factor, passkey', secondFactorPage({ ...secondFactor, methods, scripts: signIn.scripts })],
    ...CODE_PROBLEMS.map((problem): [string, string] => [
      `second factor, ${problem.kind}`,
      secondFactorPage({ ...secondFactor, problem }),
    ]),
    [
      'second factor, stronger',
      secondFactorPage({
        ...{ ...secondFactor, factors: [], methods, scripts: signIn.scripts },
        stepUp: { isOptional: true },
      }),
    ],
    ['set up a stronger sign-in', strongerPage({ ...stronger, setUps })],
    ['set up a second factor', strongerPage({ ...stronger, setUps, required: { graceEnds: undefined } })],
    ['set up a second factor, later', strongerPage({ ...stronger, setUps, required: { graceEnds: at } })],
    ['set up a stronger sign-in, done', strongerPage({ ...stronger, setUps: [] })],
    ...(
      [
        { kind: 'none' },
        { kind: 'no_address' },
        { kind: 'under_way', readyAt: new Date(at) },
        { kind: 'ready' },
      ] as const
    ).map((state): [string, string] => [
      `lost factors, ${state.kind}`,
      lostFactorsPage({ form, username: of('ada'), waitHours: 72, state, links: { back: '/sign-in' } }),
    ]),
    [
      'remove lost factors',
      standaloneQuestionPage({ question: removeFactorsQuestion(of('ada')), form, refused: false }),
    ],
    ['stop the removal', stopRecoveryPage({ form, username: of('ada') })],
    ...(['stopped', 'removed', 'invalid'] as const).map((outcome): [string, string] => [
      `removal of lost factors, ${outcome}`,
      recoveryOutcomePage(outcome),
    ]),
    ['set up an app', setUpPage(appSetUp)],
    ['set up an app, problem', setUpPage({ ...appSetUp, problem: 'That is not the code of this key.' })],
    [
      'recovery codes',
      recoveryCodesPage({
        frame: after('The app is set up.'),
        ...{ codes: [of('AAAA-BBBB-CCCC-DDDD'), 'EEEE-FFFF-GGGG-HHHH'], download: form, next: '/next' },
      }),
    ],
    ...[removeAppQuestion(app), renewCodesQuestion(app)].map((question): [string, string] => [
      question.title,
      accountQuestionPage({ ...{ frame, current: SECURITY, form, refused: false }, question }),
    ]),
    [
      'security, nothing',
      security({
        Password: passwordPart(true),
        Passkeys: passkeysPart(0),
        'Authenticator app': authenticatorAppPart(undefined),
        'Recovery codes': recoveryCodesPart(undefined),
        'Remembered browsers': rememberedBrowsersPart([]),
      }),
    ],
    [
      'security, all',
      security({
        Passkeys: passkeysPart(2),
        'Authenticator app': authenticatorAppPart(app),
        'Recovery codes': recoveryCodesPart(app),
        'Remembered browsers': rememberedBrowsersPart([
          {
            ...{ id: 'b1', name: of('Firefox on Windows'), address: of('::1') },
            ...{ createdAt: at, lastUsedAt: at, forget: form },
          },
        ]),
      }),
    ],
    ['create account', createAccountPage({ form, application, ...signUp, links: { signIn: '/sign-in' } })],
    [
      'create account, invited',
      createAccountPage({
        form,
        ...signUp,
        invited: {
          ...{ email: of('ada@x.example'), role: 'editor', membership: { role: 'viewer' } },
          application: { name: of('Shop') },
        },
        links: { signIn: '/account' },
      }),
    ],
    [
      'delete the account',
      accountQuestionPage({
        ...{ frame, current: ACCOUNT_PAGES.profile, form, refused: false },
        question: deletionQuestion({
          ...{ account: { username: of('ada') }, applications: [{ name: of('Shop') }], auditDays: 365 },
        }),
      }),
    ],
    ['download data', exportPage({ frame, form })],
    ['download data, running', exportPage({ frame, form, problem: 'running' })],
    ['account deleted', accountDeletedPage()],
    ['account not deleted', lastAdminPage()],
    ['invitation, invalid', invitationInvalidPage()],
    ['invitation, accepted', invitationAcceptedPage({ username: of('ada'), isConfirmed: true })],
    ['invitation, of another account', invitationAcceptedPage({ username: of('ada'), isConfirmed: false })],
    [
      'create account, problems',
      createAccountPage({
        form,
        ...signUp,
        values: { username: of('ada'), email: of('ada@'), name: of('Ada') },
        problems: ['username', 'email', 'password', 'other'].map(problem),
        links: { signIn: '/sign-in' },
      }),
    ],
    [
      'consent',
      consentPage({ ...consent, account: { username: of('ada'), email: of('ada@x.example'), role: 'user' } }),
    ],
    [
      'consent, more',
      consentPage({
        ...consent,
        account: { username: of('ada'), role: 'admin' },
        newScopes: ['write:users'],
      }),
    ],
    [
      'consent, device',
      consentPage({
        ...consent,
        application: { name: of('Television'), host: undefined, isOnOtherDevice: true },
        account: { username: of('ada'), role: 'user' },
        details: deviceRequestDetails(deviceRequest),
        links: {},
      }),
    ],
    ['device, code', enterCodePage({ form, userCode: of('BCDF') })],
    ...USER_CODE_PROBLEMS.map((problem): [string, string] => [
      `device, ${problem}`,
      enterCodePage({ form, userCode: of('BCDF'), problem }),
    ]),
    ...[false, true].map((isFirstParty): [string, string] => [
      isFirstParty ? 'device, verify the command line' : 'device, verify',
      verifyCodePage({
        ...{ form, application: of('Television'), isFirstParty },
        ...{ userCode: 'BCDF-GHJK', request: deviceRequest },
      }),
    ]),
    ['device, connected', connectedPage({ application: of('Television') })],
    ['device, not connected', notConnectedPage()],
    [
      'consent, with links',
      consentPage({
        ...consent,
        application: {
          ...application,
          logo: of('iVBORw0KGgo='),
          links: [{ text: 'Terms of service', url: 'https://x.example/terms' }],
        },
        account: { username: of('ada'), role: 'user' },
      }),
    ],
    ['sign out', signOutPage({ form, username: of('ada'), application: of('Lighthouse') })],
    ['still signed in', stillSignedInPage({ username: of('ada'), links: { account: '/account' } })],
    ['signed out', signedOutPage({ links: { signIn: '/sign-in' } })],
    ...ERRORS.map((kind): [string, string] => [
      `error, ${kind}`,
      errorPage({
        kind,
        requestId: of('req_1'),
        detail: of('redirect_uri is not registered'),
        retryAfter: 7,
        links: { account: '/account' },
      }),
    ]),
    ['error, bare', errorPage({ kind: 'generic', requestId: of('req_1') })],
    ['forgotten password', forgottenPasswordPage({ form, links: { signIn: '/sign-in' } })],
    [
      'forgotten password, wait',
      forgottenPasswordPage({ form, login: of('ada'), retryAfter: 60, links: { signIn: '/sign-in' } }),
    ],
    ['forgotten password, sent', forgottenPasswordSentPage({ minutes: 30, links: { signIn: '/sign-in' } })],
    ['new password', newPasswordPage({ form, username: of('ada') })],
    ['set up the sign-in again', newPasswordPage({ form, username: of('ada'), isReset: true })],
    ['set up the sign-in again, done', newPasswordDonePage({ isReset: true, links: { signIn: '/sign-in' } })],
    [
      'new password, problem',
      newPasswordPage({ form, username: of('ada'), problems: [problem('new_password')] }),
    ],
    ['new password, done', newPasswordDonePage({ links: { signIn: '/sign-in' }, endCredentials: form })],
    ['credentials ended', credentialsEndedPage({ links: { signIn: '/sign-in' } })],
    ['verify email', emailVerifyPage({ form, email: of('ada@x.example'), username: of('ada') })],
    ['verify email, another account', emailOfOtherAccountPage({ signOut: form, username: of('ada') })],
    ['email verified', emailVerifiedPage({ email: of('ada@x.example'), links: { account: '/account' } })],
    ['link invalid, password', linkInvalidPage({ purpose: 'new_password', links: { retry: '/forgotten' } })],
    ['link invalid, undo', linkInvalidPage({ purpose: 'undo', links: { retry: '/account' } })],
    ...UNDOABLE_CHANGES.map((change): [string, string] => [
      `undo, ${change.name}`,
      undoPage({
        ...{ form, email: of('ada@x.example'), username: of('ada'), at, change },
        isEmail: change === EMAIL_CHANGED,
      }),
    ]),
    [
      'undone',
      undonePage({ email: of('ada@x.example'), minutes: 30, links: { forgottenPassword: '/forgotten' } }),
    ],
    ['link invalid, email', linkInvalidPage({ purpose: 'email', links: { retry: '/account' } })],
    ['profile', profilePage({ ...profile, frame: after('Your profile is saved.'), email: 'verified' })],
    [
      'profile, unverified',
      profilePage({
        ...profile,
        frame: after('We have sent a link to your email address. Open the link to confirm the address.'),
        email: 'unverified',
      }),
    ],
    [
      'profile, problems',
      profilePage({ ...profile, values: {}, email: 'none', problems: [...FIELDS, 'other'].map(problem) }),
    ],
    [
      'password',
      passwordPage({
        frame: after('Your new password is saved. All other devices and applications are signed out.'),
        ...{ form, hasPassword: true, remove: '/remove' },
        endCredentials: '/end',
      }),
    ],
    [
      'password, problems',
      passwordPage({
        frame,
        form,
        hasPassword: true,
        problems: ['current_password', 'new_password'].map(problem),
      }),
    ],
    ['password, wait', passwordPage({ frame, form, hasPassword: true, retryAfter: 30 })],
    ['password, none', passwordPage({ frame, form, hasPassword: false })],
    ['picture, problem', picturePage(frame, { ...picture, problems: [problem('file')] })],
    [
      'picture, of a provider',
      picturePage(frame, { ...picture, picture: 'https://pictures.example.org/p.png', path: undefined }),
    ],
    ['profile, no password', profilePage({ ...profile, asksForPassword: false, email: 'verified' })],
    [
      'applications',
      applicationsPage({
        ...{ frame, own, endCredentials: '/end' },
        role: 'user',
        applications: [authorized, authorized],
      }),
    ],
    [
      'applications, none',
      applicationsPage({
        frame: after('The application no longer has access to your account.'),
        own: [],
        endCredentials: '/end',
        role: 'user',
        applications: [],
      }),
    ],
    [
      'question',
      accountQuestionPage({
        ...{ frame, current: ACCOUNT_PAGES.applications, form, refused: true },
        question: endCredentialsQuestion({ username: of('ada'), role: 'admin' }, own, '/account'),
      }),
    ],
    [
      'question, not signed in',
      standaloneQuestionPage({
        ...{ form, refused: false },
        question: endOthersQuestion({ sessions: 2, logins: 1, lastUsedAt: new Date() }, '/account'),
      }),
    ],
    [
      'passkeys',
      passkeysPage({
        frame,
        passkeys: [synced, onKey],
        add: '/add',
        isOnlyWay: false,
        problems: [problem('name')],
      }),
    ],
    ['passkeys, none', passkeysPage({ frame, passkeys: [], add: '/add', isOnlyWay: false })],
    [
      'passkeys, all',
      passkeysPage({ frame: after('Removed.'), passkeys: [onKey], add: undefined, isOnlyWay: true }),
    ],
    ['connected accounts', connectedAccountsPage({ frame, providers: [connected, notConnected] })],
    [
      'connected accounts, problem',
      connectedAccountsPage({
        frame,
        providers: [{ ...connected, isOnlyWay: true }],
        problem: { title: 'Acme is not responding', advice: 'Try again in a minute.' },
      }),
    ],
    [
      'disconnect an account',
      accountQuestionPage({
        ...{ frame, current: CONNECTED_ACCOUNTS, form, refused: false },
        question: disconnectQuestion(of('Acme'), connected.linked),
      }),
    ],
    [
      'leave for another site',
      redirectPage({ to: of('Acme'), url: 'https://acme.example/authorize?a=1&b=2' }),
    ],
    ['add a passkey', addPasskeyPage(adding)],
    ['add a passkey, problems', addPasskeyPage({ ...adding, problems: [problem('name')] })],
    ['add a passkey, problem', addPasskeyPage({ ...adding, problem: 'The passkey could not be verified.' })],
    [
      'remove a passkey',
      accountQuestionPage({
        ...{ frame, current: PASSKEYS, form, refused: false },
        question: removePasskeyQuestion(synced),
      }),
    ],
    [
      'sessions',
      sessionsPage({
        frame: after('The session has ended.'),
        devices,
        programs,
        isComplete: true,
        endOthers: '/end',
      }),
    ],
    [
      'sessions, one',
      sessionsPage({
        ...{ frame, programs: [], isComplete: false, endOthers: '/end' },
        devices: [{ name: 'Firefox on Windows', uses: [here], endAll: form }],
      }),
    ],
  ]);
}
