import { skip, startNatsWithPermissions } from '@gatehouse/testing/nats-server';
import { recordTraces, SPAN_KINDS } from '@gatehouse/testing/otlp-receiver';
import t, { type Test } from 'tap';
import { ALL, ANN, build, NOTIFICATIONS } from './build.ts';
import { startGateway } from './gateway.ts';

const COUNT = 6;

async function check(t: Test, natsUrl: string | undefined): Promise<void> {
  const traces = await recordTraces(t);
  const gateway = await startGateway(t);
  gateway.state.delayMs = 50;
  const providers = { sms: { url: gateway.url, from: '+15005550006' } };
  const sending = { providers, slots: 2, responseTimeoutMs: 20_000 };
  const { issuer, call, ended } = await build(t, sending, natsUrl === undefined ? {} : { natsUrl });
  const senders = await Promise.all(
    ['usr_one', 'usr_two', 'usr_three'].map((id) => issuer.person(id, 'editor', ALL)),
  );
  const traceOf = new Map<string, string>();
  for (let i = 0; i < COUNT; i += 1) {
    for (const [n, sender] of senders.entries()) {
      const trace = `${n}`.padStart(16, 'a') + `${i}`.padStart(16, 'b');
      const draft = { user_id: ANN, type: 'sms', message: 'Your order has been shipped.' };
      const traceparent = `00-${trace}-00f067aa0ba902b7-01`;
      const { body } = await call('POST', NOTIFICATIONS, sender, draft, { traceparent });
      traceOf.set(body.id, trace);
    }
  }
  for (const id of traceOf.keys()) t.match(await ended(id), { status: 'sent' });
  await traces.send();
  const spans = traces.spans();
  for (const [id, trace] of traceOf) {
    const own = spans.filter(({ traceId }) => traceId === trace);
    const job = own.find(({ name }) => name === 'process messages.normal.sms');
    t.match(job?.attributes['messaging.message.id'], id, 'the job is a part of the trace of its request');
    const provider = own.filter(
      ({ kind, parentSpanId }) => kind === SPAN_KINDS.client && parentSpanId === job?.spanId,
    );
    t.ok(
      provider.some(
        ({ name, attributes }) => name === 'POST' && attributes['http.response.status_code'] === 201,
      ),
      'and what the provider was asked is a part of the job',
    );
  }
}

// Those of several senders take turns, and most jobs overtake the queue.
t.test('a message is a part of the trace of its request: by the database', (t) => check(t, undefined));

t.test('a message is a part of the trace of its request: by JetStream', { skip }, async (t) => {
  const nats = await startNatsWithPermissions(t);
  await check(t, nats.urlOf('notifications'));
});
