import { startMailServer } from '@gatehouse/testing/mail-server';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { ANN, BOB, build } from './build.ts';
import { startGateway } from './gateway.ts';

const mail = await startMailServer(t);
const gateway = await startGateway(t);
const { notify, ended, read, call, machine } = await build(t, {
  providers: {
    email: { smtpUrl: mail.url, from: 'Gatehouse <no-reply@example.org>' },
    sms: { url: gateway.url, from: '+15005550006' },
  },
});
t.afterEach(() => {
  mail.state.refuse = undefined;
  gateway.state.mode = 'accept';
  gateway.received.length = 0;
});

t.test('an email is sent by SMTP, to the address that users has', async (t) => {
  const id = await notify({ message: 'Your order has been shipped.\nIt comes tomorrow.' });
  t.match(await ended(id), {
    status: 'sent',
    reason: null,
    attempts: [{ outcome: 'accepted', error: null }],
  });
  const received = mail.received.find(({ messageId }) => messageId.startsWith(id));
  t.same(received?.to, ['ann@example.org']);
  t.match(received?.content, 'Subject: Your order has been shipped.\r\n');
  t.match(received?.content, 'It comes tomorrow.');
  const own = await notify({ message: 'It comes tomorrow.', subject: 'Your order' });
  await ended(own);
  const second = mail.received.find(({ messageId }) => messageId.startsWith(own));
  t.match(second?.content, 'Subject: Your order\r\n', 'or its own subject');
});

t.test('an SMS is sent by the gateway, to the number in the form of E.164', async (t) => {
  const id = await notify({ type: 'sms' });
  t.match(await ended(id), {
    status: 'sent',
    attempts: [{ outcome: 'accepted', provider_id: /^SM\d{32}$/ }],
  });
  t.match(gateway.received, [
    {
      to: '+49301234567',
      from: '+15005550006',
      body: 'Your order has been shipped.',
      authorization: `Basic ${btoa('AC1:t0ken')}`,
    },
  ]);
});

t.test('who has no address gets nothing, and the notification says so', async (t) => {
  for (const [type, reason] of [
    ['email', 'The recipient has no email address.'],
    ['sms', 'The recipient has no phone number.'],
  ] as const) {
    t.match(await ended(await notify({ user_id: BOB, type })), {
      status: 'failed',
      reason,
      attempts: [{ outcome: 'rejected', error: reason }],
    });
  }
});

t.test('messages that the provider refuses are not tried again', async (t) => {
  gateway.state.mode = 'reject';
  const text = await ended(await notify({ type: 'sms' }));
  t.match(text, { status: 'failed', reason: 'The SMS gateway has refused it (400).' });
  t.equal(text.attempts.length, 1);
  t.notMatch(JSON.stringify(text), '4930', 'the gateway’s text, which has the number, is left out');
  mail.state.refuse = 550;
  const email = await ended(await notify());
  t.match(email, { status: 'failed', reason: 'The mail server has refused it (550).' });
  t.equal(email.attempts.length, 1);
});

t.test('messages that the provider refuses for now are tried again', async (t) => {
  mail.state.refuse = 450;
  const id = await notify();
  await until(async () => (await read(id)).attempts.length >= 3, 5000);
  mail.state.refuse = undefined;
  const email = await ended(id);
  t.match(email, { status: 'sent', attempts: [{ outcome: 'failed', error: /\(450\)/ }] });
  t.equal(email.attempts.at(-1)?.outcome, 'accepted');
});

t.test('429: no other attempt before the time of Retry-After', async (t) => {
  gateway.state.mode = 'throttle';
  const id = await notify({ type: 'sms' });
  await until(() => gateway.received.length > 0, 5000);
  gateway.state.mode = 'accept';
  const later = await notify({ type: 'sms' });
  t.match(await ended(id), { status: 'sent', attempts: [{ outcome: 'failed' }, { outcome: 'accepted' }] });
  t.match(await ended(later), { status: 'sent' });
  const [first, ...others] = gateway.received.map(({ at }) => at);
  t.ok(first !== undefined && others.every((at) => at - first >= 990), 'the lane waits as a whole');
});

t.test('a gateway that fails at one message: 8 attempts, then a dead letter', async (t) => {
  gateway.state.mode = 'fail';
  const id = await notify({ type: 'sms' });
  const failed = await ended(id, ['failed']);
  t.equal(failed.attempts.length, 8);
  t.ok(failed.attempts.every(({ outcome }) => outcome === 'unknown'));
  t.equal(gateway.received.length, 8, 'each attempt that may have been accepted is recorded as such');
});

t.test('silence is an answer, too: the attempt may have been accepted', async (t) => {
  gateway.state.mode = 'silence';
  const id = await notify({ type: 'sms' });
  await until(() => gateway.received.length === 1, 5000);
  gateway.state.mode = 'accept';
  t.match(await ended(id), {
    status: 'sent',
    attempts: [{ outcome: 'unknown', error: 'The SMS gateway did not answer.' }, { outcome: 'accepted' }],
  });
});

t.test('a type without a provider is refused', async (t) => {
  const body = { user_id: ANN, message: 'Hello', type: 'push' };
  t.match(await call('POST', '/v2/notifications', machine, body), {
    status: 400,
    body: { error: { details: [{ field: 'type' }] } },
  });
});
