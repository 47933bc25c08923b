import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import t, { type Test } from 'tap';
import { refuseInjection } from '../src/mail.ts';
import { createFileMail } from '../src/mail-settings.ts';
import { removeOldest, writeMessageFile } from '../src/message-file.ts';
import { createSmtpMail } from '../src/smtp-mail.ts';

const MAIL = {
  to: 'ann@example.org',
  subject: 'Choose a new password – Gatehouse',
  text: 'Open this link:\n\nhttps://id.example.org/account/new-password?token=abc\n',
  html: '<p>Open <a href="https://id.example.org/account/new-password?token=abc">this link</a></p>',
};

type Received = { to: string[]; from: string; content: string; secure: boolean; user: unknown };

/** A mail server that keeps what it gets. */
async function serve(t: Test, options: SMTPServerOptions = {}) {
  const received: Received[] = [];
  let connections = 0;
  const server = new SMTPServer({
    authOptional: true,
    onConnect(_session, done) {
      connections += 1;
      done();
    },
    onAuth({ username, password }, _session, done) {
      if (password === 'p@ss') done(null, { user: username ?? '' });
      else done(new Error('no'));
    },
    onData(stream, { envelope, secure, user }, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        received.push({
          to: envelope.rcptTo.map(({ address }) => address),
          from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
          content: Buffer.concat(chunks).toString(),
          secure,
          user,
        });
        done();
      });
    },
    ...options,
  });
  server.on('error', () => {});
  await new Promise<void>((done) => server.listen(0, '0.0.0.0', done));
  t.teardown(() => new Promise<void>((done) => server.close(done)));
  const { port } = server.server.address() as { port: number };
  const sender = (start: string) => {
    const mail = createSmtpMail({ smtpUrl: `${start}:${port}`, from: 'Gatehouse <no-reply@example.org>' });
    t.teardown(() => mail.stop());
    return mail;
  };
  return { received, sender, connections: () => connections };
}

t.test('a mail arrives, with its text and its HTML, over TLS where the server has it', async (t) => {
  const { received, sender, connections } = await serve(t);
  const mail = sender('smtp://localhost');
  await mail.send(MAIL);
  for (let i = 0; i < 5; i += 1) await mail.send(MAIL);
  t.equal(connections(), 1, 'the connection is kept');
  t.match(received[0], { to: ['ann@example.org'], from: 'no-reply@example.org', secure: true });
  const content = received[0]?.content ?? '';
  t.match(content, /^From: Gatehouse <no-reply@example\.org>\r$/m);
  t.match(content, /^To: ann@example\.org\r$/m);
  t.match(content, /^Subject: =\?UTF-8\?/m);
  t.match(content, /text\/plain/);
  t.match(content, /text\/html/);
  t.match(content, /^Auto-Submitted: auto-generated\r$/im);
});

t.test('user and password may have any characters', async (t) => {
  const { received, sender } = await serve(t, { authOptional: false });
  await sender('smtp://us%40er:p%40ss@localhost').send(MAIL);
  t.match(received, [{ user: 'us@er' }]);
  await t.rejects(sender('smtp://user:wrong@localhost').send(MAIL));
});

t.test('nothing goes to another machine in the clear, or to one that cannot prove who it is', async (t) => {
  const plain = await serve(t, { hideSTARTTLS: true });
  await t.rejects(plain.sender('smtp://user:p%40ss@0.0.0.0').send(MAIL));
  t.same(plain.received, []);
  await plain.sender('smtp://127.0.0.1').send(MAIL);
  t.equal(plain.received.length, 1, 'on this machine it may');
  const unknown = await serve(t);
  await t.rejects(unknown.sender('smtp://0.0.0.0').send(MAIL), /certificate/);
  const tls = await serve(t, { secure: true });
  await t.rejects(tls.sender('smtps://0.0.0.0').send(MAIL), /certificate/);
  t.same([...unknown.received, ...tls.received], []);
  await tls.sender('smtps://localhost').send(MAIL);
  t.match(tls.received, [{ secure: true }]);
});

t.test('a server that is away or refuses is an error, and the next mail goes again', async (t) => {
  const gone = createServer();
  await new Promise<void>((done) => gone.listen(0, '127.0.0.1', done));
  const { port } = gone.address() as { port: number };
  await new Promise((done) => gone.close(done));
  const mail = createSmtpMail({ smtpUrl: `smtp://127.0.0.1:${port}`, from: 'a@example.org' });
  t.teardown(() => mail.stop());
  await t.rejects(mail.send(MAIL), /ECONNREFUSED/);

  let refuse = true;
  const { received, sender } = await serve(t, {
    onRcptTo: (_address, _session, done) => done(refuse ? new Error('no such box') : null),
  });
  const other = sender('smtp://localhost');
  await t.rejects(other.send(MAIL));
  refuse = false;
  await other.send(MAIL);
  t.equal(received.length, 1);
});

t.test('no mail has a header or a recipient that its sender did not mean', async (t) => {
  const { received, sender } = await serve(t);
  const mail = sender('smtp://localhost');
  const bad = [
    { to: 'ann@example.org\r\nBcc: eve@example.org' },
    { to: 'ann@example.org, eve@example.org' },
    { to: 'ann@example.org;eve@example.org' },
    { to: 'Ann <ann@example.org>' },
    { to: 'group:ann@example.org' },
    { to: 'a b@example.org' },
    { to: '"a"@example.org' },
    { to: 'ann' },
    { to: '' },
    { to: '@example.org' },
    { to: `${'a'.repeat(250)}@example.org` },
    { subject: 'x\r\nBcc: eve@example.org' },
    { subject: 'x\nX-Y: z' },
    { subject: 'x\u2028y' },
    { subject: 'x\u0000' },
  ];
  for (const [i, over] of bad.entries()) {
    await t.rejects(mail.send({ ...MAIL, ...over }), /the recipient|the subject/, `bad mail ${i}`);
  }
  t.same(received, []);
  refuseInjection({ ...MAIL, to: "o'neil+tag@sub.example.org" });
  refuseInjection({ ...MAIL, to: 'jörg@bücher.example' });
});

t.test('URLs that are none for sending mail', (t) => {
  for (const smtpUrl of ['', 'x', 'http://localhost', 'smtp://', 'localhost:25'])
    t.throws(() => createSmtpMail({ smtpUrl, from: 'a@example.org' }), /the URL for sending mail/, smtpUrl);
  t.end();
});

t.test('the outbox keeps mails as files that only their owner reads, and tells the link', async (t) => {
  const directory = join(mkdtempSync(join(tmpdir(), 'gatehouse-outbox-')), 'outbox');
  t.teardown(() => rmSync(join(directory, '..'), { recursive: true, force: true }));
  const links: { link: string; file: string; to: string }[] = [];
  const mail = createFileMail({ directory, onLink: (it) => links.push(it) });
  await Promise.all([mail.send(MAIL), mail.send({ ...MAIL, to: 'ben@example.org' })]);
  await mail.send({ ...MAIL, text: 'no link here' });
  const files = readdirSync(directory).sort();
  t.equal(files.length, 3);
  for (const file of files) {
    t.match(file, /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z-mail_\w+\.txt$/);
    t.equal(statSync(join(directory, file)).mode & 0o777, 0o600);
  }
  t.equal(statSync(directory).mode & 0o777, 0o700);
  t.match(links, [{ to: /@example/, link: 'https://id.example.org/account/new-password?token=abc' }, {}]);
  t.equal(links.length, 2);
  const content = readFileSync(links[0]?.file ?? '', 'utf8');
  t.ok(content.startsWith(`To: ${links[0]?.to}\nSubject: ${MAIL.subject}\nDate: `));
  t.ok(content.endsWith(MAIL.text));
  await t.rejects(mail.send({ ...MAIL, to: 'a@b\nSubject: x' }), /the recipient/);
});

t.test('the newest files are kept, and files that are no mails are left alone', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-mail-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  for (const [i, kind] of ['mail', 'sms', 'mail', 'mail', 'mail'].entries()) {
    await writeMessageFile(directory, { now: new Date(Date.UTC(2026, 0, 1, i)), kind, content: 'x' });
  }
  await removeOldest(directory, { kind: 'mail', keep: 2 });
  const left = readdirSync(directory).sort();
  t.match(left, [/T01.*sms_/, /T03.*mail_/, /T04.*mail_/]);
  t.equal(left.length, 3);
});
