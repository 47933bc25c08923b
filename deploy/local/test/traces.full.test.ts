import { createFormBrowser } from '@gatehouse/testing/form-browser';
import { jsonRequest } from '@gatehouse/testing/json-request';
import { startMailServer } from '@gatehouse/testing/mail-server';
import { skip } from '@gatehouse/testing/nats-server';
import { type ReceivedSpan, SPAN_KINDS, startOtlpReceiver } from '@gatehouse/testing/otlp-receiver';
import { until } from '@gatehouse/testing/processes';
import t, { type Test } from 'tap';
import { ADMIN, MACHINE, startCluster, tokenFrom } from './cluster.ts';

const BROWSER = '00f067aa0ba902b7';
const NEW_PERSON = {
  username: 'marked.person',
  email: 'marked@example.net',
  password: 'marked horse battery',
};

/** What the spans of a trace are below each other: the first one below the browser's, each next one below the one before. */
type Chain = { process: string; name: string; kind: keyof typeof SPAN_KINDS }[];

function follow(t: Test, spans: readonly ReceivedSpan[], chain: Chain): void {
  let parents = [BROWSER];
  for (const { process, name, kind } of chain) {
    const found = spans.filter(
      (span) =>
        parents.includes(span.parentSpanId ?? '') &&
        span.process === `gatehouse-${process}` &&
        span.name === name &&
        span.kind === SPAN_KINDS[kind],
    );
    if (!t.not(found.length, 0, `${process}: ${name}`)) return;
    parents = found.map(({ spanId }) => spanId);
  }
}

t.test(
  'one trace leads from a request through the queue to the mail, and holds nobody’s data',
  { skip },
  async (t) => {
    const collector = await startOtlpReceiver(t);
    const mail = await startMailServer(t);
    const { identity, users, others } = await startCluster(
      t,
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        IDENTITY_SIGN_UP: 'on',
        IDENTITY_SMTP_URL: mail.url,
        IDENTITY_MAIL_FROM: 'Gatehouse <gatehouse@example.org>',
        NOTIFICATIONS_SMTP_URL: mail.url,
        NOTIFICATIONS_MAIL_FROM: 'Gatehouse <gatehouse@example.org>',
      },
      ['notifications'],
    );
    const [signUp, order] = ['4bf92f3577b34da6a3ce929d0e0e4736', '0af7651916cd43dd8448eb211c80319c'];

    // By the page.
    const browser = createFormBrowser(identity.base, { traceparent: `00-${signUp}-${BROWSER}-01` });
    let page = await browser.get('/account/sign-up');
    // The issuer is elsewhere.
    while (page.status === 0) page = await browser.get(page.url.pathname + page.url.search);
    await browser.submit(page, NEW_PERSON, 'create-account');
    await until(() => mail.received.some(({ to }) => to.includes(NEW_PERSON.email)), 10_000);

    // By the API.
    const token = await tokenFrom(identity.base);
    const found = await jsonRequest('GET', `${users.base}/v1/users?email=${ADMIN.email}`, { token });
    const [admin] = found.body.data as { id: string }[];
    const body = { user_id: admin?.id, message: 'A marked message.', type: 'email' };
    const url = `${others.notifications.base}/v2/notifications?q=marked`;
    const headers = { traceparent: `00-${order}-${BROWSER}-01` };
    t.match(await jsonRequest('POST', url, { token, body, headers }), { status: 202 });
    await until(() => mail.received.some(({ content }) => content.includes('marked message')), 10_000);

    for (const { process } of [identity, users, others.notifications]) {
      process.child.kill('SIGTERM');
      await process.ended;
    }
    const of = (trace: string) => collector.spans().filter(({ traceId }) => traceId === trace);
    const form = { process: 'identity', name: 'POST /sign-in/:uid/create-account', kind: 'server' } as const;
    follow(t, of(signUp), [form, { process: 'identity', name: 'send mail', kind: 'client' }]);
    follow(t, of(signUp), [
      form,
      { process: 'identity', name: 'POST', kind: 'client' },
      { process: 'users', name: 'POST /internal/users/accounts', kind: 'server' },
      { process: 'users', name: 'insertMany users', kind: 'client' },
    ]);
    const notify = { process: 'notifications', name: 'POST /v2/notifications', kind: 'server' } as const;
    const job = [
      notify,
      { process: 'notifications', name: 'process messages.normal.email', kind: 'consumer' },
    ] as const;
    follow(t, of(order), [...job, { process: 'notifications', name: 'send mail', kind: 'client' }]);
    follow(t, of(order), [
      ...job,
      { process: 'notifications', name: 'GET', kind: 'client' },
      { process: 'users', name: 'GET /internal/users/contacts/:id', kind: 'server' },
    ]);
    follow(t, of(order), [
      notify,
      { process: 'notifications', name: 'insertMany notifications', kind: 'client' },
    ]);
    const secrets = [
      'marked',
      ADMIN.email,
      ADMIN.username,
      MACHINE.client_secret,
      token,
      'gatehouse@example.org',
    ];
    for (const secret of secrets) t.notOk(collector.received().includes(secret), secret.slice(0, 10));
  },
);
