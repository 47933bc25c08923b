import { setTimeout as sleep } from 'node:timers/promises';
import { createTestIssuer } from '@gatehouse/testing/test-issuer';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import { ALL } from './build.ts';
import { megabytesOf, startCommerce } from './commerce-process.ts';
import { beginImport, drained, REFUSED_LINE } from './import-client.ts';

const LINES = 10_000;

t.test('a client that takes no answers is not read', async (t) => {
  const issuer = await createTestIssuer(t, 'commerce');
  const commerce = await startCommerce(t, { issuer, mongodbUri: await testDatabase(t) });
  const { outgoing, response } = beginImport(commerce.base, await issuer.machine(ALL));
  outgoing.on('error', () => {});
  let sent = 0;
  let isRead = true;
  void response.then((it) => it.pause());
  for (; sent < LINES && isRead; sent += 1) {
    if (outgoing.write(REFUSED_LINE)) continue;
    isRead = await Promise.race([drained(outgoing).then(() => true), sleep(5000, false)]);
  }
  t.comment(
    `${((sent * REFUSED_LINE.length) / 1e6).toFixed(0)} MB were sent; memory ${megabytesOf(commerce).toFixed(0)} MB`,
  );
  t.ok(sent < LINES);
  outgoing.destroy();
});
