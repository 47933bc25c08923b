import { createHmac, randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream';
import type { ApiClient } from '../api-client.ts';
import { UsageError } from '../errors.ts';
import { cell, type Output } from '../output.ts';
import { repeat } from '../repeat.ts';
import type { Session } from '../session.ts';

const EVENTS = '/api/v1/events';
/** The largest number of deliveries at a time. */
const MAX_DELIVERIES = 10;
const ATTEMPT_MS = 15_000;
/** The pauses before further attempts at a delivery, in milliseconds. */
const RETRY_MS = [500, 1000, 2000, 5000, 10_000, 30_000];
const MAX_EVENT_LENGTH = 1_048_576;

type Delivery = { id: string; type: string; data: string };
type ListenOptions = { forwardTo?: string; events?: string[] };

/** The commands that bring the events of the deployment to a developer's laptop. */
export function addEvents(program: Command, session: Session): void {
  program
    .command('listen')
    .description('Receive your events as they happen, and forward them to a program as webhooks.')
    .option('--forward-to <url>', 'the URL of the program, such as http://localhost:4000/hook')
    .option('--events <type...>', 'only these types')
    .action(async ({ forwardTo, events }: ListenOptions) => {
      const { deployment, output } = session();
      if (
        forwardTo !== undefined &&
        !/^https?:$/.test(URL.canParse(forwardTo) ? new URL(forwardTo).protocol : '')
      ) {
        throw new UsageError(`${forwardTo} is not a URL, such as http://localhost:4000/hook.`);
      }
      const key = randomBytes(32);
      const secret = `whsec_${key.toString('base64')}`;
      const api = await deployment.api();
      const deliver = forwardTo === undefined ? undefined : createForwarder({ url: forwardTo, key, output });
      const onReady = () =>
        output.line(
          { ready: true, ...(forwardTo === undefined ? {} : { forward_to: forwardTo, secret }) },
          forwardTo === undefined
            ? 'Ready.'
            : `Ready. Events are forwarded to ${forwardTo}, signed with the secret ${secret}`,
        );
      await listen(api, { onReady, note: output.note }, async (event) => {
        const { id = '', event: type = '', data } = event;
        if (events !== undefined && !events.includes(type)) return;
        if (deliver === undefined)
          output.line({ id, ...JSON.parse(data) }, [id, type, data].map(cell).join('  '));
        else await deliver({ id, type, data });
      });
    });

  program
    .command('trigger')
    .argument('<type>', 'such as order.created')
    .description('Send a test event to your own webhooks, and to `gatehouse listen`.')
    .action(async (type: string) => {
      const { deployment, output } = session();
      const api = await deployment.api();
      const { body } = await api.request('POST', `${EVENTS}/test`, { body: { type } });
      output.result(body ?? { type }, `The test event ${type} was sent.`);
    });
}

/** Passes on the events in their order. After a broken connection, it continues with the event after the last. Never resolves. */
async function listen(
  api: ApiClient,
  { onReady, note }: { onReady(): void; note(text: string): void },
  onEvent: (event: EventSourceMessage) => Promise<void>,
): Promise<never> {
  let last: string | undefined;
  const connect = () =>
    api.open('GET', EVENTS, {
      headers: { accept: 'text/event-stream', ...(last === undefined ? {} : { 'last-event-id': last }) },
    });
  // Not repeated: the address may be wrong.
  let response: Response | undefined = await connect();
  onReady();
  return repeat(async () => {
    const { body } = response ?? (await connect());
    response = undefined;
    const events = body
      ?.pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream({ maxBufferSize: MAX_EVENT_LENGTH }));
    try {
      for await (const event of events ?? []) {
        await onEvent(event);
        last = event.id;
      }
    } catch (error) {
      // A response that breaks off is a TypeError.
      if (!(error instanceof TypeError)) throw error;
    }
    note('The connection has ended. Connecting again…');
  }, note);
}

/** Delivers events to an endpoint as webhooks are (Standard Webhooks 1.0.0), several at a time, each until it is accepted. */
function createForwarder({ url, key, output }: { url: string; key: Buffer; output: Output }) {
  const underWay = new Set<Promise<void>>();

  async function attempt({ id, data }: Delivery): Promise<{ status: number } | { error: string }> {
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${data}`).digest('base64');
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Gatehouse-Webhooks',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': `v1,${signature}`,
    };
    const init = {
      method: 'POST',
      headers,
      body: data,
      redirect: 'manual',
      signal: AbortSignal.timeout(ATTEMPT_MS),
    } as const;
    try {
      const response = await fetch(url, init);
      await response.body?.cancel();
      return { status: response.status };
    } catch (error) {
      const { cause, message } = error as Error;
      return { error: cause instanceof Error && cause.message !== '' ? cause.message : message };
    }
  }

  async function deliver(event: Delivery): Promise<void> {
    for (const pause of [...RETRY_MS, undefined]) {
      const begun = performance.now();
      const outcome = await attempt(event);
      const duration_ms = Math.round(performance.now() - begun);
      const isAccepted = 'status' in outcome && outcome.status >= 200 && outcome.status < 300;
      const next = isAccepted ? '' : pause === undefined ? ', given up' : `, again in ${pause / 1000} s`;
      const result = output.paint(cell(Object.values(outcome)[0]), isAccepted ? 'green' : 'red');
      output.line(
        { webhook_id: event.id, type: event.type, ...outcome, duration_ms },
        `${cell(event.id)}  ${cell(event.type)}  ${result}${next}`,
      );
      if (isAccepted || pause === undefined) return;
      await wait(pause);
    }
  }

  /** Resolves once there is room for another delivery. */
  return async (event: Delivery): Promise<void> => {
    const delivery = deliver(event).finally(() => underWay.delete(delivery));
    underWay.add(delivery);
    if (underWay.size >= MAX_DELIVERIES) await Promise.race(underWay);
  };
}
