import { createServer, type Socket } from 'node:net';
import { listen } from '@gatehouse/testing/listen';
import t, { type Test } from 'tap';
import { createSmtpProvider } from '../src/notifications/channels/smtp-provider.ts';
import { build } from './build.ts';

type Reply = string | ((socket: Socket) => void);
type Replies = Partial<Record<'GREETING' | 'EHLO' | 'MAIL' | 'RCPT' | 'DATA' | 'CONTENT', Reply>>;

const ACCEPTING = {
  ...{ GREETING: '220 mail.example', EHLO: '250 mail.example', MAIL: '250 OK', RCPT: '250 OK' },
  ...{ DATA: '354 Go on', CONTENT: '250 Accepted' },
} satisfies Replies;
const breakOff: Reply = (socket) => socket.destroy();
const silence: Reply = () => {};
const endless: Reply = (socket) => void socket.write(`250-${'x'.repeat(2 * 1024 * 1024)}`);
const cutOff =
  (text: string): Reply =>
  (socket) =>
    socket.end(text);

/** A mail server that gives these replies (RFC 5321), and counts the contents that it has received as a whole. */
async function startServer(t: Test, replies: Replies) {
  const seen = { contents: 0 };
  const server = createServer((socket) => {
    let received = '';
    let inContent = false;
    const reply = (step: keyof Replies) => {
      const text = replies[step] ?? ACCEPTING[step];
      if (typeof text === 'string') socket.write(`${text}\r\n`);
      else text(socket);
    };
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      received += chunk;
      for (let end = endOf(received, inContent); end > 0; end = endOf(received, inContent)) {
        const command = received.slice(0, 4).toUpperCase();
        received = received.slice(end);
        if (inContent) {
          seen.contents += 1;
          inContent = false;
          reply('CONTENT');
        } else if (command === 'RSET') socket.write('250 OK\r\n');
        else {
          inContent = command === 'DATA' && (replies.DATA ?? ACCEPTING.DATA) === ACCEPTING.DATA;
          reply(command as 'EHLO');
        }
      }
    });
    reply('GREETING');
  });
  const port = await listen(t, server);
  const smtpUrl = `smtp://127.0.0.1:${port}`;
  const provider = createSmtpProvider({ smtpUrl, from: 'a@example.org', domain: 'example.org' });
  t.teardown(() => provider.stop());
  return { provider, seen, smtpUrl };
}

function endOf(received: string, inContent: boolean): number {
  const end = inContent ? '\r\n.\r\n' : '\r\n';
  return received.indexOf(end) < 0 ? 0 : received.indexOf(end) + end.length;
}

const UNKNOWN = { kind: 'failing', mayBeAccepted: true };
const NOTHING_GIVEN = { kind: 'unreachable', mayBeAccepted: false };
const TEMPORARY = { kind: 'temporary', mayBeAccepted: false };
const REJECTED = { kind: 'rejected', mayBeAccepted: false };

/** How an attempt ends, by the reply that is not the usual one. */
const CASES: [name: string, replies: Replies, expected: object][] = [
  ['an endless reply to the content', { CONTENT: endless }, UNKNOWN],
  ['a connection that breaks after the content', { CONTENT: breakOff }, UNKNOWN],
  ['a connection that ends after the content', { CONTENT: cutOff('') }, UNKNOWN],
  ['half a reply of success', { CONTENT: cutOff('250 Acc') }, UNKNOWN],
  ['half a reply of failure', { CONTENT: cutOff('550 No') }, UNKNOWN],
  ['silence after the content', { CONTENT: silence }, UNKNOWN],
  ['a reply that is none', { CONTENT: 'Accepted!' }, UNKNOWN],
  ['a reply that belongs elsewhere', { CONTENT: '354 Go on' }, UNKNOWN],
  ['421 to the content', { CONTENT: '421 Closing' }, TEMPORARY],
  ['452 to the content', { CONTENT: '452 Full' }, TEMPORARY],
  ['554 to the content', { CONTENT: '554 No' }, REJECTED],
  ['421 to DATA', { DATA: '421 Closing' }, NOTHING_GIVEN],
  ['451 to DATA', { DATA: '451 Later' }, TEMPORARY],
  ['an endless reply to DATA', { DATA: endless }, NOTHING_GIVEN],
  ['a connection that breaks at DATA', { DATA: breakOff }, NOTHING_GIVEN],
  ['silence at RCPT', { RCPT: silence }, NOTHING_GIVEN],
  ['550 to RCPT', { RCPT: '550 Unknown' }, REJECTED],
  ['an endless greeting', { GREETING: endless }, NOTHING_GIVEN],
  ['silence at EHLO', { EHLO: silence }, NOTHING_GIVEN],
];

t.test('a mail that is accepted', async (t) => {
  const { provider, seen } = await startServer(t, {});
  const message = { id: 'ntf_1', text: 'Hello', isUrgent: false };
  for (let i = 0; i < 3; i += 1) await provider.send(message, 'ann@example.org', AbortSignal.timeout(5000));
  t.equal(seen.contents, 3);
});

for (const [name, replies, expected] of CASES) {
  t.test(`${name}: what may have been delivered is not taken for unsent`, async (t) => {
    const { provider, seen } = await startServer(t, replies);
    const message = { id: 'ntf_1', text: 'Hello', isUrgent: false };
    const inTime = AbortSignal.timeout(Object.values(replies).includes(silence) ? 1000 : 10_000);
    const ended = provider.send(message, 'ann@example.org', inTime);
    t.match(await ended.catch((error: unknown) => error), expected);
    t.equal(seen.contents, 'CONTENT' in replies ? 1 : 0, 'the content went once, if at all');
  });
}

t.test('each time that the content was given is an attempt of the notification', async (t) => {
  const { seen, smtpUrl } = await startServer(t, { CONTENT: endless });
  const providers = { email: { smtpUrl, from: 'a@example.org' } };
  const { notify, ended } = await build(t, { providers, responseTimeoutMs: 10_000 });
  const { status, attempts } = await ended(await notify());
  t.equal(status, 'failed');
  t.equal(attempts.length, seen.contents);
  for (const { outcome } of attempts) t.equal(outcome, 'unknown');
});
