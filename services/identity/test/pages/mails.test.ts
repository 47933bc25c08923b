import t from 'tap';
import {
  emailChangedMail,
  type Mail,
  type Notice,
  newPasswordMail,
  noticeMail,
  verifyEmailMail,
} from '../../src/pages/mails.ts';
import { parseMarkup } from './markup.ts';

const LINK = 'https://id.example/account/link?a=1&token=x';
const notice = (it: Notice) => noticeMail(it, { username: 'ada' });
const at = new Date('2026-03-05T14:07:00Z');
const MAILS: [mail: Mail, subject: string, links: string[]][] = [
  [verifyEmailMail({ link: LINK, username: 'ada' }), 'Confirm your email address – Gatehouse', [LINK]],
  [newPasswordMail({ link: LINK, minutes: 30 }), 'Choose a new password – Gatehouse', [LINK]],
  [
    emailChangedMail({ link: LINK, username: 'ada', hours: 72, at }),
    'Your email address has been changed – Gatehouse',
    [LINK],
  ],
  [
    notice({ kind: 'password_changed', at, address: '192.0.2.7' }),
    'Your password has been changed – Gatehouse',
    [],
  ],
  [
    notice({ kind: 'recovery_used', at, address: '192.0.2.7' }),
    'A link for a new password was used – Gatehouse',
    [],
  ],
  [
    notice({ kind: 'new_device', device: 'Firefox on Windows', address: '::1', at }),
    'A sign-in from a new device – Gatehouse',
    [],
  ],
  [
    notice({ kind: 'new_credential', what: 'an API key', name: 'Nightly', application: 'Lighthouse' }),
    'A new way into the API was created – Gatehouse',
    [],
  ],
  [
    notice({ kind: 'application_given', application: 'Lighthouse' }),
    'An application has been given away – Gatehouse',
    [],
  ],
  [
    notice({ kind: 'application_received', application: 'Lighthouse' }),
    'You have been given an application – Gatehouse',
    [],
  ],
];

t.test('text and markup carry the same link', async (t) => {
  for (const [mail, subject, links] of MAILS) {
    const elements = parseMarkup(mail.html);
    t.equal(mail.subject, subject);
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
  t.match(text, /“a b <a href="x">c<\/a>”/);
  t.equal(parseMarkup(html).filter(({ name }) => name === 'a').length, 1);
  t.notMatch(subject, /a b/);
  const hostile = notice({
    kind: 'new_credential',
    what: 'an API key',
    name: 'y\n\nGo',
    application: 'x\n\nGo to <b>evil</b>',
  });
  t.match(hostile.text, /“x Go to <b>evil<\/b>”, has just been given an API key, “y Go”\.$/m);
});

t.test('when it was, and where it came from if that is known', async (t) => {
  const username = 'ada';
  for (const it of [{ at }, { at, address: '192.0.2.7' }]) {
    const words = `5 March 2026 at 14:07 UTC${'address' in it ? ', from the address 192.0.2.7' : ''}.`;
    t.match(notice({ kind: 'password_changed', ...it }).text, `was changed on ${words} Other devices`);
    t.match(notice({ kind: 'recovery_used', ...it }).text, `for your Gatehouse account ada, on ${words}`);
    t.match(emailChangedMail({ link: LINK, username, hours: 72, ...it }).text, `than this one on ${words}`);
  }
});

t.test('a mail does not carry an unsafe link', async (t) => {
  t.throws(() => verifyEmailMail({ link: 'javascript:alert(1)', username: 'ada' }), TypeError);
});
