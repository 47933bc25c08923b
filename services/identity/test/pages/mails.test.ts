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
    emailChangedMail({ link: LINK, username: 'ada', hours: 72 }),
    'Your email address has been changed – Gatehouse',
    [LINK],
  ],
  [notice({ kind: 'password_changed' }), 'Your password has been changed – Gatehouse', []],
  [notice({ kind: 'recovery_used' }), 'A link for a new password was used – Gatehouse', []],
  [
    notice({ kind: 'new_device', device: 'Firefox on Windows', address: '::1', at }),
    'A sign-in from a new device – Gatehouse',
    [],
  ],
  [
    notice({ kind: 'new_credential', what: 'an API key', application: 'Lighthouse' }),
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
    application: 'x\n\nGo to <b>evil</b>',
  });
  t.match(hostile.text, /“x Go to <b>evil<\/b>”/);
});

t.test('a mail does not carry an unsafe link', async (t) => {
  t.throws(() => verifyEmailMail({ link: 'javascript:alert(1)', username: 'ada' }), TypeError);
});
