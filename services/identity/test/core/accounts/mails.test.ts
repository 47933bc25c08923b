import t from 'tap';
import type { Mail } from '../../../src/core/accounts/mail-document.ts';
import {
  accountDeletedMail,
  addressClaimedMail,
  emailChangedMail,
  factorRecoveryMail,
  newPasswordMail,
  undoneMail,
  verifyEmailMail,
} from '../../../src/core/accounts/mails.ts';
import { CHANGES, type Notice, noticeMail } from '../../../src/core/accounts/notice-mail.ts';
import { parseMarkup } from '../../pages/markup.ts';

const LINK = 'https://id.example/account/link?a=1&token=x';
const MIA = { username: 'mia', role: 'user' as const };
const notice = (it: Notice, by: Parameters<typeof noticeMail>[1]['by'] = 'by' in it ? MIA : undefined) =>
  noticeMail(it, { username: 'ada', undo: LINK, by });
const at = new Date('2026-03-05T14:07:00Z');
const address = '192.0.2.7';
const NOTICES: [Notice, subject: string][] = [
  [{ kind: 'password_changed', at, address }, 'Your password has been changed'],
  [{ kind: 'username_changed', before: 'eda', isHeld: true, at }, 'Your username has been changed'],
  [{ kind: 'recovery_used', at, address }, 'A link for a new password was used'],
  [{ kind: 'new_device', device: 'Firefox on Windows', address: '::1', at }, 'A sign-in from a new device'],
  [
    { kind: 'new_credential', what: 'an API key', name: 'Nightly', application: 'Lighthouse' },
    'A new API credential was created',
  ],
  [{ kind: 'passkey_added', passkey: 'Phone', at, address }, 'A passkey was added to your account'],
  [{ kind: 'passkey_removed', passkey: 'Phone', at, address }, 'A passkey was removed from your account'],
  [{ kind: 'app_added', at, address }, 'An authenticator app was set up for your account'],
  [{ kind: 'app_removed', at, address }, 'The authenticator app was removed from your account'],
  [{ kind: 'recovery_codes_renewed', at, address }, 'You have new recovery codes'],
  [{ kind: 'identity_linked', provider: 'Acme', at, address }, 'Acme was connected to your account'],
  [{ kind: 'identity_unlinked', provider: 'Acme', at, address }, 'Acme was disconnected from your account'],
  [{ kind: 'set_up_link_created', at }, 'An admin created a link for your account'],
  [{ kind: 'application_given', application: 'Lighthouse' }, 'Your application has a new owner'],
  [{ kind: 'application_offered', application: 'Lighthouse' }, 'An application is offered to you'],
  [{ kind: 'member_invited', application: 'Lighthouse' }, 'You are invited to an application'],
  [{ kind: 'member_invitation_sent', application: 'Lighthouse' }, 'Somebody was invited to your application'],
  [{ kind: 'member_removed', application: 'Lighthouse' }, 'You are no longer a member of an application'],
  [{ kind: 'member_left', application: 'Lighthouse', by: 'usr_1' }, 'A member left your application'],
  [{ kind: 'access_revoked', at, address }, 'All access to your account has been revoked'],
  [{ kind: 'credentials_ended', at }, 'All secrets and keys of your applications have ended'],
  [
    { kind: 'credentials_taken_over', application: 'Lighthouse' },
    'An admin took over credentials of your application',
  ],
  [{ kind: 'resource_replaced', resource: 'Calendar' }, 'Your API was registered by somebody else'],
  [{ kind: 'registration_token_created', token: 'CI', machines: true }, 'A registration token was created'],
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
    CHANGES.some((kind) => kind === it.kind) ? [LINK] : [],
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
  const hostile = notice({
    kind: 'new_credential',
    what: 'an API key',
    name: 'y\n\nGo',
    application: 'x\n\nGo to <b>evil</b>',
  });
  t.match(hostile.text, /“x Go to b evil b” got an API key, “y Go”\./m);
});

const KEY = {
  kind: 'new_credential',
  what: 'an API key',
  name: 'Nightly',
  application: 'Lighthouse',
} as const;
const OWN_WAY =
  /somebody else may be in your account\. Choose a new password at once: .*“Forgotten your password\?”/;
for (const [name, mail, says, not] of [
  ['made by the owner', notice(KEY), OWN_WAY, 'made by'],
  [
    'made by a member',
    notice({ ...KEY, by: 'usr_1' }),
    'made by mia, a member of the application.',
    'in your account',
  ],
  [
    'made by an admin',
    notice({ ...KEY, by: 'usr_1' }, { ...MIA, role: 'admin' }),
    'made by mia, an admin.',
    'in your account',
  ],
  [
    'a member left',
    notice({ kind: 'member_left', application: 'x', by: 'usr_1' }),
    'mia left the application',
    '{',
  ],
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
  '[here](https://evil.com)',
  '<https://evil.com>',
  'a\r\nhttps://evil.com',
  '\u202emoc.live',
  'evil\u200b.com',
  '192.0.2.66',
];
/** What mail programs make links of. */
const LINKABLE =
  /[a-z]+:\/\/|www\.|mailto:|tel:|[\p{L}\p{N}][.。．｡][\p{L}\p{N}]|@|[\\<>[\]]|\d(?:[ ()+-]*\d){6}|[\u202a-\u202e\u200b]/iu;

t.test('no name in a mail becomes a link, a line or a sentence', async (t) => {
  for (const name of HOSTILE) {
    const to = { username: name, undo: LINK };
    const mails = [
      verifyEmailMail({ link: LINK, username: name }),
      accountDeletedMail(to),
      addressClaimedMail(to),
      emailChangedMail({ link: LINK, username: name, at }),
      ...(
        [
          { kind: 'password_changed', at },
          { kind: 'recovery_used', at },
          { kind: 'username_changed', before: name, isHeld: false, at },
          { kind: 'new_device', device: name, address: '::1', at },
          { kind: 'new_credential', what: 'an API key', name, application: name },
          { kind: 'new_credential', what: 'a client secret', application: name },
          { kind: 'application_given', application: name },
          { kind: 'application_offered', application: name },
          { kind: 'resource_replaced', resource: name },
          { kind: 'member_invitation_sent', application: name },
          { kind: 'member_removed', application: name },
          { kind: 'member_left', application: name, by: 'usr_1' },
          { kind: 'credentials_taken_over', application: name },
        ] as const
      ).map((it) => noticeMail(it, { ...to, by: 'by' in it ? { ...MIA, username: name } : undefined })),
    ];
    for (const { subject, text, html } of mails) {
      const shown = html.replaceAll(/<[^>]+>/g, ' ');
      for (const said of [subject, text, shown]) {
        const rest = said.replaceAll(LINK, '').replaceAll(LINK.replaceAll('&', '&amp;'), '');
        t.notMatch(rest, LINKABLE, JSON.stringify(name));
      }
      for (const [, quoted = ''] of text.matchAll(/“([^”]*)”/g)) t.ok([...quoted].length <= 40, quoted);
    }
  }
});

t.test('ordinary names can be recognised', async (t) => {
  for (const [name, shown] of [
    ['Lighthouse', 'Lighthouse'],
    ["Zoë's & Müller (test)", "Zoë's & Müller (test)"],
    ['ann.lee-2', 'ann·lee-2'],
    ['नमस्ते', 'नमस्ते'],
  ] as const) {
    t.match(notice({ kind: 'application_given', application: name }).text, `“${shown}”`);
  }
});

t.test('when it was, and where it came from if that is known', async (t) => {
  const username = 'ada';
  for (const it of [{ at }, { at, address }]) {
    const words = `5 March 2026 at 14:07 UTC${'address' in it ? ', from the address 192.0.2.7' : ''}.`;
    t.match(
      notice({ kind: 'password_changed', ...it }).text,
      `was changed or removed on ${words} Other devices`,
    );
    t.match(notice({ kind: 'recovery_used', ...it }).text, `for your Gatehouse account ada, on ${words}`);
    t.match(emailChangedMail({ link: LINK, username, ...it }).text, `in place of this one on ${words}`);
  }
});

t.test('a mail does not carry an unsafe link', async (t) => {
  t.throws(() => verifyEmailMail({ link: 'javascript:alert(1)', username: 'ada' }), TypeError);
});
