import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen } from '@gatehouse/testing/listen';

type Teardown = { teardown(fn: () => unknown): void };
type Mode = 'accept' | 'reject' | 'throttle' | 'fail' | 'silence';

/** An HTTP gateway for SMS that answers as Twilio does. */
export async function startGateway(t: Teardown) {
  const received: { to: string; from: string; body: string; authorization: string; at: number }[] = [];
  const state = { mode: 'accept' as Mode, retryAfter: '1', delayMs: 0 };
  let sids = 0;

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await text(request));
    // A test may change it as soon as it has seen the request.
    const { mode } = state;
    received.push({
      to: form.get('To') ?? '',
      from: form.get('From') ?? '',
      body: form.get('Body') ?? '',
      authorization: request.headers.authorization ?? '',
      at: Date.now(),
    });
    await sleep(state.delayMs);
    const reply = (status: number, body: object, headers: Record<string, string> = {}) =>
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify(body));
    switch (mode) {
      case 'accept':
        sids += 1;
        return void reply(201, { sid: `SM${String(sids).padStart(32, '0')}`, status: 'queued' });
      case 'reject':
        return void reply(400, { code: 21211, message: `The 'To' number ${form.get('To')} is not valid.` });
      case 'throttle':
        return void reply(429, { code: 20429 }, { 'retry-after': state.retryAfter });
      case 'fail':
        return void reply(500, { code: 20500 });
      case 'silence':
    }
  }

  const server = createServer((request, response) => void respond(request, response));
  const port = await listen(t, server);
  return { received, state, url: `http://AC1:t0ken@127.0.0.1:${port}/2010-04-01/Accounts/AC1/Messages.json` };
}
