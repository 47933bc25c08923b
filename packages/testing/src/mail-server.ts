import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

type Teardown = { teardown(fn: () => unknown): void };
export type ReceivedMail = { to: string[]; content: string; messageId: string };

/** A mail server that keeps what it gets, and refuses every recipient with the reply code `state.refuse`. */
export async function startMailServer(t: Teardown, options: SMTPServerOptions & { port?: number } = {}) {
  const received: ReceivedMail[] = [];
  const state = { refuse: undefined as number | undefined };
  const server = new SMTPServer({
    authOptional: true,
    closeTimeout: 100,
    onRcptTo({ address }, _session, done) {
      if (state.refuse === undefined) return done();
      done(Object.assign(new Error(`<${address}> refused`), { responseCode: state.refuse }));
    },
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const content = Buffer.concat(chunks).toString();
        const messageId = /^Message-ID: <(.*)>/im.exec(content)?.[1] ?? '';
        received.push({ to: envelope.rcptTo.map(({ address }) => address), content, messageId });
        done();
      });
    },
    ...options,
  });
  server.on('error', () => {});
  await new Promise<void>((done) => server.listen(options.port ?? 0, '127.0.0.1', done));
  t.teardown(() => new Promise<void>((done) => server.close(done)));
  const { port } = server.server.address() as { port: number };
  return { received, state, url: `smtp://127.0.0.1:${port}` };
}
