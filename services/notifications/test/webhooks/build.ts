import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from '@gatehouse/testing/listen';
import { until } from '@gatehouse/testing/processes';
import type { NotificationsConfig } from '../../src/config.ts';
import { ANN, build as buildEvents } from '../events/build.ts';

export { ANN, BOB } from '../events/build.ts';

type Received = { path: string; headers: Record<string, string>; body: string; at: number };
type Respond = (request: IncomingMessage, response: ServerResponse, count: number) => void;

/** Endpoints at this machine, one for each path. They answer 204 unless `behave` says otherwise; `count` is from 1. */
export async function startReceiver(t: { teardown(fn: () => unknown): void }) {
  const received: Received[] = [];
  const behaviours = new Map<string, Respond>();
  const at = (path: string) => received.filter((it) => it.path === path);
  const server = createServer(async (request, response) => {
    const path = request.url ?? '';
    const headers = request.headers as Record<string, string>;
    received.push({ path, headers, body: await text(request), at: performance.now() });
    const respond = behaviours.get(path);
    if (respond === undefined) response.writeHead(204).end();
    else respond(request, response, at(path).length);
  });
  const origin = `http://127.0.0.1:${await listen(t, server)}`;
  t.teardown(() => server.closeAllConnections());
  return { origin, received, at, behave: (path: string, respond: Respond) => behaviours.set(path, respond) };
}

export type Webhook = {
  id: string;
  url: string;
  secret: string;
  status: string;
  pause_reason: string | null;
};
export type Delivery = {
  id: string;
  event_id: string;
  type: string;
  status: string;
  reason: string | null;
  response_status: number | null;
  next_attempt_at: string | null;
  request: { body: string | null; reason: string | null };
  attempts: { response: { status: number; body: string | null } | null; error: string | null; url: string }[];
};

/** Three days in 26 seconds, and five seconds in half a millisecond. */
const SCALE = 0.0001;
export const SCOPES = 'read:data write:data read:users';

/** The notifications service with webhooks, endpoints for them, and Ann, who owns an application. */
export async function build(
  t: { teardown(fn: () => unknown): void },
  more: Partial<NonNullable<NotificationsConfig['webhooks']>> = {},
) {
  const receiver = await startReceiver(t);
  const built = await buildEvents(t, {
    webhooks: {
      masterKeys: [randomBytes(32)],
      networks: ['127.0.0.0/8', '::1'],
      slots: 32,
      timeoutMs: 500,
      scale: SCALE,
      ...more,
    },
  });
  const { issuer } = built;
  issuer.own(ANN, 'app_ann');
  const ann = await issuer.person(ANN, 'user', `${SCOPES} manage:apps`);
  const call = <T>(method: string, path: string, body?: unknown, token = ann) =>
    built.call(method, `/api/v1/webhooks${path}`, token, body) as unknown as Promise<{
      status: number;
      headers: Headers;
      body: T & { error: string; data: never[] };
      text: string;
    }>;

  /** A webhook of Ann's, at a path of the receiver. */
  async function create(path: string, fields: Record<string, unknown> = {}): Promise<Webhook> {
    const draft = { url: receiver.origin + path, events: ['order.*'], ...fields };
    const { status, body, text } = await call<Webhook>('POST', '', draft);
    if (status !== 201) throw new Error(`${status} ${text}`);
    return body;
  }

  const deliveries = async (id: string, query = '') =>
    (await call<object>('GET', `/${id}/deliveries?${query}`)).body.data as Delivery[];

  /** The deliveries once there are as many of a status. */
  async function delivered(id: string, count: number, status = 'succeeded'): Promise<Delivery[]> {
    let found: Delivery[] = [];
    await until(async () => {
      found = await deliveries(id, `limit=100&filter[status]=${status}`);
      return found.length >= count;
    }, 20_000);
    return found;
  }
  return { ...built, ...receiver, ann, hooks: call, create, deliveries, delivered };
}
