import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type BodyLine, readLines } from '@gatehouse/api/http/body-lines';
import { checkAfterBody } from '@gatehouse/api/http/request-body';
import { ServiceError } from '@gatehouse/core/errors';
import { listen } from '@gatehouse/testing/listen';
import fc from 'fast-check';
import t from 'tap';

const LIMITS = { lines: 20, bytes: 10, seconds: 5 };
let limits = LIMITS;
let check: (() => Promise<void>) | undefined;
/** Gets each line before the next one is read. */
let take: (line: BodyLine) => unknown = () => {};
let ended = Promise.withResolvers<void>();

const server = createServer(async (incoming, response) => {
  if (check !== undefined) checkAfterBody(incoming, check);
  const seen: string[] = [];
  for await (const line of readLines(incoming, limits)) {
    await take(line);
    seen.push('bytes' in line ? `${line.number}:${line.bytes}` : told(line));
  }
  ended.resolve();
  response.end(JSON.stringify(seen));
});
const told = ({ number, problem, isLast }: Extract<BodyLine, { isLast: boolean }>) =>
  `${number}:${isLast ? 'end' : 'refused'} ${problem.kind}`;
const port = await listen(t, server);

function begin(chunks: readonly string[]) {
  ended = Promise.withResolvers();
  const outgoing = request({ port, method: 'POST', agent: false });
  for (const chunk of chunks) outgoing.write(chunk);
  return outgoing;
}
async function linesOf(...chunks: string[]): Promise<string[]> {
  const outgoing = begin(chunks);
  outgoing.end();
  const [response] = await once(outgoing, 'response');
  return JSON.parse(Buffer.concat(await response.toArray()).toString());
}

t.test('lines, however the body is cut into chunks', async () => {
  const line = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', 'é', ' '), maxLength: 8 }),
    fc.constantFrom('', ' \r', 'x'.repeat(10), 'x'.repeat(11), 'x'.repeat(100)),
  );
  const property = fc.asyncProperty(
    fc.array(line, { maxLength: 25 }),
    fc.boolean(),
    fc.array(fc.nat(200), { maxLength: 5 }),
    async (lines, isEnded, cuts) => {
      const body = Buffer.from(lines.join('\n') + (isEnded ? '\n' : ''));
      const places = [0, ...cuts.map((cut) => Math.min(cut, body.length)).sort((a, b) => a - b), body.length];
      const chunks = places.slice(1).map((end, i) => body.subarray(places[i], end).toString('latin1'));
      const outgoing = begin([]);
      for (const chunk of chunks) outgoing.write(chunk, 'latin1');
      outgoing.end();
      const [response] = await once(outgoing, 'response');
      const expected = lines.flatMap((text, i) => {
        if (text.trim() === '') return [];
        if (i >= LIMITS.lines) return [`${i + 1}:end too_large`];
        return [Buffer.byteLength(text) > LIMITS.bytes ? `${i + 1}:refused too_large` : `${i + 1}:${text}`];
      });
      const end = expected.findIndex((text) => text.includes(':end'));
      const wanted = end === -1 ? expected : expected.slice(0, end + 1);
      assert.deepEqual(JSON.parse(Buffer.concat(await response.toArray()).toString()), wanted);
    },
  );
  await fc.assert(property, { numRuns: 60 });
});

t.test(
  'a line is there before the rest of the body, which is read no faster than lines are taken',
  async (t) => {
    const gate = Promise.withResolvers<void>();
    const first = Promise.withResolvers<void>();
    take = () => {
      first.resolve();
      return gate.promise;
    };
    const outgoing = begin(['a\n']);
    await first.promise;
    // More than the buffers of both sides and of the connection between them.
    let taken = 0;
    const chunk = 'x'.repeat(1_000_000);
    for (let i = 0; i < 64; i += 1) outgoing.write(chunk, () => (taken += 1));
    await new Promise((resolve) => setTimeout(resolve, 200));
    t.ok(taken < 64, `${taken} MB were taken`);
    gate.resolve();
    outgoing.end('\nb');
    const [response] = await once(outgoing, 'response');
    t.same(await response.toArray().then((it: Buffer[]) => JSON.parse(Buffer.concat(it).toString())), [
      '1:a',
      '2:refused too_large',
      '3:b',
    ]);
    t.equal(taken, 64);
    take = () => {};
  },
);

t.test('checks before the body are repeated before each line', async (t) => {
  let checks = 0;
  check = async () => {
    checks += 1;
    if (checks === 3) throw new ServiceError('unauthenticated', 'Revoked.');
  };
  t.same(await linesOf('a\nb\nc\nd\n'), ['1:a', '2:b', '3:end unauthenticated']);
  check = undefined;
});

t.test('the lines end in time, also when nothing comes', async (t) => {
  limits = { ...LIMITS, seconds: 0.2 };
  const outgoing = begin(['a\nb']);
  const [response] = await once(outgoing, 'response');
  const text = Buffer.concat(await response.toArray()).toString();
  t.same(JSON.parse(text), ['1:a', '2:end timeout']);
  outgoing.destroy();
  limits = LIMITS;
});

t.test('they end when the client goes away', async () => {
  const first = Promise.withResolvers<void>();
  take = () => first.resolve();
  const outgoing = begin(['a\nb']);
  outgoing.on('error', () => {});
  await first.promise;
  outgoing.destroy();
  await ended.promise;
  take = () => {};
});

t.test('empty lines count', async (t) => {
  t.same(await linesOf('\n'.repeat(LIMITS.lines), 'a\n'), [`${LIMITS.lines + 1}:end too_large`]);
  t.same(await linesOf('\n'.repeat(100_000)), [`${LIMITS.lines + 1}:end too_large`]);
});
