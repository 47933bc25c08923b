import t from 'tap';
import {
  accessRevoked,
  codesGuessed,
  credentialsEnded,
  passwordChanged,
  recoveryUsed,
  setUpLinkCreated,
  signedInFromNewDevice,
  usernameChanged,
} from '../../../src/core/accounts/account-notices.ts';
import { type Mail, plainSentence } from '../../../src/core/accounts/mail-document.ts';
import {
  accountDeletedMail,
  addressClaimedMail,
  emailChangedMail,
  factorRecoveryMail,
  newPasswordMail,
  undoneMail,
  verifyEmailMail,
} from '../../../src/core/accounts/mails.ts';
import { type Notice, writeNotice } from '../../../src/core/accounts/notice.ts';
import { applicationChanged } from '../../../src/core/applications/application-changed-notice.ts';
import { credentialCreated } from '../../../src/core/applications/new-credential-notice.ts';
import {
  appAdded,
  appRemoved,
  recoveryCodesRenewed,
  recoveryCodeUsed,
} from '../../../src/features/authenticator-app/app-notices.ts';
import {
  accountConnected,
  accountDisconnected,
} from '../../../src/features/identity-providers/connected-account-notices.ts';
import { accountImpersonated } from '../../../src/features/impersonation/impersonation-notice.ts';
import {
  credentialsTakenOver,
  memberInvitationSent,
  memberInvited,
  memberLeft,
  memberRemoved,
} from '../../../src/features/members/member-notices.ts';
import { passkeyAdded, passkeyRemoved } from '../../../src/features/passkeys/passkey-notices.ts';
import { registrationTokenCreated } from '../../../src/features/registration/registration-token-notice.ts';
import { resourceReplaced } from '../../../src/features/resources/resource-notice.ts';
import { applicationGiven, applicationOffered } from '../../../src/features/transfers/transfer-notices.ts';
import { parseMarkup } from '../../pages/markup.ts';

const LINK = 'https://id.example/account/link?a=1&token=x';
const MIA = { username: 'mia', role: 'user' as const };
const notice = (
  it: Notice,
  by: Parameters<typeof writeNotice>[1]['by'] = it.by === undefined ? undefined : MIA,
) => writeNotice(it, { username: 'ada', undo: LINK, by });
const at = new Date('2026-03-05T14:07:00Z');
const address = '192.0.2.7';
const when = { at, address };
const LIGHTHOUSE = { name: 'Lighthouse' };
const NOTICES: [Notice, subject: string][] = [
  [passwordChanged(when), 'Your password has been changed'],
  [usernameChanged({ before: 'eda', isHeld: true }, { at }), 'Your username has been changed'],
  [recoveryUsed(when), 'A link for a new password was used'],
  [
    signedInFromNewDevice({ device: 'Firefox on Windows', address: '::1', at }),
    'A sign-in from a new device',
  ],
  [
    credentialCreated('Lighthouse', { what: 'an API key', name: 'Nightly' }),
    'A new API credential was created',
  ],
  [passkeyAdded({ name: 'Phone' }, when), 'A passkey was added to your account'],
  [passkeyRemoved({ id: 'psk_1', name: 'Phone' }, when), 'A passkey was removed from your account'],
  [appAdded(when), 'An authenticator app was set up for your account'],
  [appRemoved(when), 'The authenticator app was removed from your account'],
  [recoveryCodesRenewed(when), 'You have new recovery codes'],
  [recoveryCodeUsed(0, when), 'A recovery code was used'],
  [codesGuessed(when), 'Somebody has your password'],
  [accountConnected('Acme', when), 'Acme was connected to your account'],
  [accountDisconnected('Acme', when), 'Acme was disconnected from your account'],
  [accountImpersonated('usr_1', 'Ticket 4711', when), 'An admin acts in your account'],
  [setUpLinkCreated({ at }), 'An admin created a link for your account'],
  [applicationGiven(LIGHTHOUSE), 'Your application has a new owner'],
  [applicationChanged(LIGHTHOUSE), 'An admin changed your application'],
  [applicationOffered(LIGHTHOUSE), 'An application is offered to you'],
  [memberInvited(LIGHTHOUSE), 'You are invited to an application'],
  [memberInvitationSent(LIGHTHOUSE), 'Somebody was invited to your application'],
  [memberRemoved(LIGHTHOUSE), 'You are no longer a member of an application'],
  [memberLeft(LIGHTHOUSE, 'usr_1'), 'A member left your application'],
  [accessRevoked(when), 'All access to your account has been revoked'],
  [credentialsEnded({ at }), 'All secrets and keys of your applications have ended'],
  [credentialsTakenOver(LIGHTHOUSE), 'An admin took over credentials of your application'],
  [resourceReplaced('Calendar'), 'Your API was registered by somebody else'],
  [registrationTokenCreated({ name: 'CI', machines: true }), 'A registration token was created'],
];
const MAILS: [mail: Mail, subject: string, links: string[]][] = [
  [verifyEmailMail({ link: LINK, username: 'ada' }), 'Confirm your email address', [LINK]],
  [newPasswordMail({ link: LINK, minutes: 30 }), 'Choose a new password', [LINK]],
  [emailChangedMail({ link: LINK, username: 'ada', at }), 'Your email address has been changed', [LINK]],
  [emailChangedMail({ link: undefined, username: 'ada', at }), 'Your email address has been changed', []],
  ...(['requested', 'soon', 'ready'] as const).map((stage, i): [Mail, string, string[]] => [
    factorRecoveryMail({ stage, readyAt: at, address }, { link: LINK, username: 'ada' }),
    [
      'Somebody cannot enter a code for your account',
      'The app and the recovery codes can soon be removed',
      'Remove the app and the recovery codes',
    ][i] as string,
    [LINK],
  ]),
  [undoneMail({ link: LINK, username: 'ada', minutes: 30 }), 'Choose a new password', [LINK]],
  ...NOTICES.map(([it, subject]): [Mail, string, string[]] => [
    notice(it),
    subject,
    it.undo === undefined ? [] : [LINK],
  ]),
];

t.test('text and markup carry the same link', async (t) => {
  for (const [mail, subject, links] of MAILS) {
    const elements = parseMarkup(mail.html);
    t.equal(mail.subject, `${subject} – Gatehouse`);
    t.strictSame(mail.text.match(/^https:.*$/gm) ?? [], links);
    t.strictSame(
      elements.filter(({ name }) => name === 'a').map(({ attributes }) => attributes.get('href')),
      links,
    );
    for (const link of links) t.ok(elements[0]?.text.includes(link), 'the address can be read');
    t.notMatch(mail.text, /<|&amp;/);
  }
  t.match(MAILS[1]?.[0].text, /once, for 30 minutes/);
});

t.test('a name adds neither lines nor markup', async (t) => {
  const { subject, text, html } = verifyEmailMail({ link: LINK, username: 'a\r\nb\u2028<a href="x">c</a>' });
  t.match(text, /“a b a href x c a”/);
  t.equal(parseMarkup(html).filter(({ name }) => name === 'a').length, 1);
  t.notMatch(subject, /a b/);
  const hostile = notice(
    credentialCreated('x\n\nGo to <b>evil</b>', { what: 'an API key', name: 'y\n\nGo' }),
  );
  t.match(hostile.text, /“x Go to b evil b” got an API key, “y Go”\./m);
});

const key = (by?: string) => credentialCreated('Lighthouse', { what: 'an API key', name: 'Nightly' }, by);
const OWN_WAY =
  /somebody else may be in your account\. Choose a new password at once: .*“Forgotten your password\?”/;
for (const [name, mail, says, not] of [
  ['made by the owner', notice(key()), OWN_WAY, 'made by'],
  ['made by a member', notice(key('usr_1')), 'made by mia, a member of the application.', 'in your account'],
  [
    'made by an admin',
    notice(key('usr_1'), { ...MIA, role: 'admin' }),
    'made by mia, an admin.',
    'in your account',
  ],
  ['a member left', notice(memberLeft({ name: 'x' }, 'usr_1')), 'mia left the application', '{'],
  ...NOTICES.map(([it]) => [it.kind, notice(it), /./, /change the password[,.]|page that follows/i] as const),
] as const) {
  t.test(`what a mail advises: ${name}`, async (t) => {
    t.match(mail.text, says);
    t.notMatch(mail.text, not);
  });
}

const HOSTILE = [
  'Your account is locked: unlock it at https://evil.example/login',
  'https://evil.example',
  'HTTP:\\\\evil.example',
  '//evil.example/x',
  'www.evil.com',
  'WWW。evil。com',
  'ｅｖｉｌ．ｃｏｍ',
  'evil.com',
  'evil.co.uk:8443/path?x=1#y',
  'пример.рф',
  'mailto:thief@evil.com',
  'thief@evil.com',
  'tel:+15551234567',
  'Call +1 (555) 123-4567 now!',
  '15551234567',
  '0_800_123_4567',
  "0'30'123'4567",
  '0&3&0&1&2&3&4&5&6',
  '06 12 34 56 78',
  '٠١٢٣٤٥٦٧٨٩',
  '[here](https://evil.com)',
  '<https://evil.com>',
  'a\r\nhttps://evil.com',
  '\u202emoc.live',
  'evil\u200b.com',
  '192.0.2.66',
];
/** What mail programs make links of. */
const LINKABLE =
  /[a-z]+:\/\/|www\.|mailto:|tel:|[\p{L}\p{N}][.。．｡][\p{L}\p{N}]|@|[\\<>[\]]|\p{Nd}(?:[^\p{L}\p{Nd}·“”\n]*\p{Nd}){6}|[\u202a-\u202e\u200b]/iu;

t.test('no name in a mail becomes a link, a line or a sentence', async (t) => {
  for (const name of HOSTILE) {
    const to = { username: name, undo: LINK };
    const mails = [
      verifyEmailMail({ link: LINK, username: name }),
      accountDeletedMail(to),
      addressClaimedMail(to),
      emailChangedMail({ link: LINK, username: name, at }),
      ...[
        passwordChanged({ at }),
        recoveryUsed({ at }),
        usernameChanged({ before: name, isHeld: false }, { at }),
        signedInFromNewDevice({ device: name, address: '::1', at }),
        credentialCreated(name, { what: 'an API key', name }),
        credentialCreated(name, { what: 'a client secret' }),
        applicationGiven({ name }),
        applicationOffered({ name }),
        applicationChanged({ name }),
        resourceReplaced(name),
        memberInvitationSent({ name }),
        memberRemoved({ name }),
        memberLeft({ name }, 'usr_1'),
        credentialsTakenOver({ name }),
      ].map((it) =>
        writeNotice(it, { ...to, by: it.by === undefined ? undefined : { ...MIA, username: name } }),
      ),
    ];
    for (const { subject, text, html } of mails) {
      const shown = html.replace(/<style>[^<]*<\/style>/, '').replaceAll(/<[^>]+>/g, ' ');
      for (const said of [subject, text, shown]) {
        const rest = said.replaceAll(LINK, '').replaceAll(LINK.replaceAll('&', '&amp;'), '');
        t.notMatch(rest, LINKABLE, JSON.stringify(name));
      }
      for (const [, quoted = ''] of text.matchAll(/“([^”]*)”/g)) t.ok([...quoted].length <= 40, quoted);
    }
  }
});

t.test('no sentence of an admin in a mail has a phone number', (t) => {
  for (const [sentence, shown] of [
    ['Call 0800,123,4567', 'Call 080·0,12·3,45·67'],
    ['Call 0800:123; 4567', 'Call 080·0·12·3; 45·67'],
    ['Call 0800#123#4567!', 'Call 080·0#12·3#45·67!'],
    ['Orders 12 and 3456', 'Orders 12 and 3456'],
  ] as const)
    t.equal(plainSentence(sentence), shown);
  t.end();
});

t.test('ordinary names can be recognised', async (t) => {
  for (const [name, shown] of [
    ['Lighthouse', 'Lighthouse'],
    ["Zoë's & Müller (test)", "Zoë's & Müller (test)"],
    ['ann.lee-2', 'ann·lee-2'],
    ['नमस्ते', 'नमस्ते'],
  ] as const) {
    t.match(notice(applicationGiven({ name })).text, `“${shown}”`);
  }
});

t.test('when it was, and where it came from if that is known', async (t) => {
  const username = 'ada';
  for (const it of [{ at }, { at, address }]) {
    const words = `5 March 2026 at 14:07 UTC${'address' in it ? ', from the address 192.0.2.7' : ''}.`;
    t.match(notice(passwordChanged(it)).text, `was changed or removed on ${words} Other devices`);
    t.match(notice(recoveryUsed(it)).text, `for your Gatehouse account ada, on ${words}`);
    t.match(emailChangedMail({ link: LINK, username, ...it }).text, `in place of this one on ${words}`);
  }
});

t.test('the mail about a password by which an admin gives the account back has no link', async (t) => {
  for (const isGivenBack of [true, false]) {
    t.equal(notice(passwordChanged(when, isGivenBack)).text.includes(LINK), !isGivenBack);
  }
});

t.test('a mail does not carry an unsafe link', async (t) => {
  t.throws(() => verifyEmailMail({ link: 'javascript:alert(1)', username: 'ada' }), TypeError);
});
