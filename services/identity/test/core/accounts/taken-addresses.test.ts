import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build } from '../../build.ts';
import { createAccount, linkTo, mailsOf } from '../../pages.ts';

const built = await build(t);
const { browser, people } = built;

/** The mails to an address, the oldest first. */
const mailsTo = async (address: string) =>
  (await mailsOf(built)).filter((mail) =>
    mail.startsWith(`To: ${address}
`),
  );

t.test('a sign-up with a confirmed address gets the usual response, and its owner gets a mail', async (t) => {
  const responses = [];
  for (const [username, email] of [
    ['new-one', 'new@example.org'],
    ['new-two', 'ANN@example.org'],
  ] as const) {
    const visitor = browser();
    const page = await createAccount(visitor, '/account', { username, email });
    const again = await visitor.submit(await visitor.get('/account'), {}, 'id="send-link-again"');
    responses.push(
      [page, again].map(({ status, url, html }) => ({
        status,
        path: url.pathname,
        html: html
          .replaceAll(username, 'USERNAME')
          .replaceAll(email, 'EMAIL')
          .replaceAll(/name="csrf" value="[^"]+"/g, 'CSRF'),
      })),
    );
  }
  t.same(responses[0], responses[1]);
  await until(async () => (await mailsTo(people.ann.email)).length === 2, 5000);
  for (const mail of await mailsTo(people.ann.email)) {
    t.match(mail, /Subject: Somebody tried to create an account with your address/);
    t.notMatch(mail, /new-two|http/, "nothing of the stranger's, and no link");
  }
  t.equal((await built.logIn('ann@example.org')).body.user_id, people.ann.id, 'the address is still hers');
});

t.test('mails are counted by who receives them, and nothing is said of it', async (t) => {
  const email = 'victim@example.org';
  const spellings = [email, 'VICTIM@example.org', 'Victim@Example.org'];
  const responses = [];
  for (let i = 0; i < 8; i += 1) {
    const page = await createAccount(browser(), '/account', {
      username: `stranger-${i}`,
      email: spellings[i % 3] ?? email,
    });
    responses.push([page.status, page.url.pathname]);
  }
  t.same(responses, Array(8).fill([200, '/account']));
  // One that comes after them all.
  await createAccount(browser(), '/account', { username: 'last', email: 'last@example.org' });
  await linkTo(built, 'last@example.org');
  const all = await Promise.all(spellings.map(mailsTo));
  t.equal(all.flat().length, 3, 'in an hour');
});
