import { createHmac, randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import { type ApiClient, ApiError, UnreachableError } from '../api-client.ts';
import { CliError, UsageError } from '../errors.ts';
import { cell, type Output } from '../output.ts';
import { readServerSentEvents, type ServerSentEvent } from '../server-sent-events.ts';
import type { Session } from '../session.ts';

const EVENTS = '/api/v1/events';
/** The deliveries under way at a time. */
const MAX_DELIVERIES = 10;
const ATTEMPT_MS = 15_000;
/** The pauses before further attempts at a delivery, in milliseconds. */
const RETRY_MS = [500, 1000, 2000, 5000, 10_000, 30_000];
/** The longest pause before another connection. */
const MAX_PAUSE_MS = 30_000;

type ListenOptions = { forwardTo?: string; events?: string[] };

/** The commands by which a developer gets the events of the deployment on a laptop. */
export function addEvents(program: Command, session: Session): void {
  program
    .command('listen')
    .description('Get your events as they happen, and forward them to a program of yours as webhooks are.')
    .option('--forward-to <url>', 'such as http://localhost:4000/hook')
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
      const isWanted = ({ event = '' }: ServerSentEvent) => events === undefined || events.includes(event);
      const deliver = forwardTo === undefined ? undefined : createForwarder({ url: forwardTo, key, output });
      const onReady = () => {
        if (deliver === undefined) return output.line({ ready: true }, 'Ready.');
        output.line(
          { ready: true, forward_to: forwardTo, secret },
          `Ready. Events are forwarded to ${forwardTo}, signed with the secret ${secret}`,
        );
      };
      await listen(api, { onReady, note: output.note }, async (event) => {
        if (!isWanted(event)) return;
        if (deliver === undefined) output.line({ id: event.id, ...JSON.parse(event.data) }, lineOf(event));
        else await deliver(event);
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
      output.result(body ?? { type }, `A test event ${type} is sent.`);
    });
}

const lineOf = ({ id, event, data }: ServerSentEvent) => [id, event, data].map(cell).join('  ');

/** Passes on the events in their order, and goes on with the one after the last when the connection has broken. Never resolves. */
async function listen(
  api: ApiClient,
  { onReady, note }: { onReady(): void; note(text: string): void },
  onEvent: (event: ServerSentEvent) => Promise<void>,
): Promise<never> {
  let last: string | undefined;
  let isReady = false;
  for (let pause = 250; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
    try {
      const headers = {
        accept: 'text/event-stream',
        ...(last === undefined ? {} : { 'last-event-id': last }),
      };
      const { body } = await api.open('GET', EVENTS, { headers });
      if (!isReady) onReady();
      isReady = true;
      if (body === null) throw new CliError('The deployment has no stream of events.');
      for await (const event of readServerSentEvents(body)) {
        pause = 250;
        await onEvent(event);
        last = event.id;
      }
      note('The connection has ended. Connecting again…');
    } catch (error) {
      const isRefused = error instanceof ApiError && error.status < 500 && error.status !== 429;
      if (isRefused || error instanceof CliError) throw error;
      // A broken body of a response is a TypeError. Before the first connection the address may be wrong.
      const isBroken = error instanceof TypeError;
      if (!isReady || !(isBroken || error instanceof UnreachableError || error instanceof ApiError))
        throw error;
      note(`${isBroken ? 'The connection broke.' : (error as Error).message} Connecting again…`);
    }
    await wait(pause);
  }
}

/** Delivers events to an endpoint as webhooks are (Standard Webhooks 1.0.0), several at a time, each until it is accepted. */
function createForwarder({ url, key, output }: { url: string; key: Buffer; output: Output }) {
  const underWay = new Set<Promise<void>>();

  async function attempt({ id, data }: ServerSentEvent): Promise<number | string> {
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
      return response.status;
    } catch (error) {
      const { cause, message } = error as Error;
      return cause instanceof Error && cause.message !== '' ? cause.message : message;
    }
  }

  async function deliver(event: ServerSentEvent): Promise<void> {
    for (const pause of [...RETRY_MS, undefined]) {
      const begun = performance.now();
      const result = await attempt(event);
      const outcome = typeof result === 'number' ? { status: result } : { error: result };
      const row = {
        webhook_id: event.id,
        type: event.event,
        ...outcome,
        duration_ms: Math.round(performance.now() - begun),
      };
      const isAccepted = typeof result === 'number' && result >= 200 && result < 300;
      const next = isAccepted ? '' : pause === undefined ? ', given up' : `, again in ${pause / 1000} s`;
      output.line(
        row,
        `${cell(event.id)}  ${cell(event.event)}  ${output.paint(cell(result), isAccepted ? 'green' : 'red')}${next}`,
      );
      if (isAccepted || pause === undefined) return;
      await wait(pause);
    }
  }

  /** Resolves once there is room for another delivery. */
  return async (event: ServerSentEvent): Promise<void> => {
    const delivery = deliver(event).finally(() => underWay.delete(delivery));
    underWay.add(delivery);
    if (underWay.size >= MAX_DELIVERIES) await Promise.race(underWay);
  };
}
