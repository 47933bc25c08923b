import { createServer } from 'node:http';
import { listen } from '@gatehouse/testing/listen';
import t from 'tap';
import { connectionFailure } from '../src/connection-failure.ts';
import { createOutbound } from '../src/outbound.ts';

t.test('a failure is named without addresses and ports', async (t) => {
  const hanging = createServer(() => {});
  const closing = createServer((request) => request.socket.destroy());
  const [silent, reset] = [await listen(t, hanging), await listen(t, closing)];
  const outbound = createOutbound({ to: 'configured', timeoutMs: 300 });
  const guarded = createOutbound({ to: 'public' });
  for (const [send, expected] of [
    [() => guarded.fetch('http://10.0.0.1/'), 'the host is not on the public internet'],
    [() => outbound.fetch(`http://127.0.0.1:${silent}/`), 'the server did not respond in time'],
    [() => outbound.fetch('http://127.0.0.1:9/'), 'the server refused the connection'],
    [() => outbound.fetch('http://no-such-host.invalid/'), 'the host has no address'],
    [() => outbound.fetch(`https://127.0.0.1:${reset}/`), /^the (?:TLS )?connection failed \([A-Z_]+\)$/],
    [() => outbound.fetch(`http://127.0.0.1:${reset}/`), 'the connection failed (UND_ERR_SOCKET)'],
  ] as const) {
    const error = await send().then(
      () => t.fail('it had a response'),
      (thrown) => thrown,
    );
    t.match(connectionFailure(error), expected);
    t.equal(connectionFailure(new Error('fetch failed', { cause: error })), connectionFailure(error));
  }
  t.equal(connectionFailure(new SyntaxError('no JSON')), undefined);
  t.equal(connectionFailure('x'), undefined);
  const expired = Object.assign(new Error('certificate has expired'), { code: 'CERT_HAS_EXPIRED' });
  t.equal(connectionFailure(expired), 'the TLS connection failed (CERT_HAS_EXPIRED)');
});
