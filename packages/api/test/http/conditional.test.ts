import type { IncomingHttpHeaders } from 'node:http';
import { etagOf, ifMatch, notModified } from '@gatehouse/api/http/conditional';
import type { IfVersion } from '@gatehouse/domain/if-version';
import t from 'tap';

const request = (headers: Record<string, string>) => ({ headers }) as { headers: IncomingHttpHeaders };

t.test('the tag of a version', async (t) => {
  t.equal(etagOf(0), '"v0"');
  t.equal(etagOf(12), '"v12"');
});

const MATCHES: [header: string, versions: IfVersion][] = [
  ['*', undefined],
  [' * ', undefined],
  ['"v3"', [3]],
  ['"v0"', [0]],
  ['"v3", "v4"', [3, 4]],
  ['"v3","v4"', [3, 4]],
  [' "v3" ,\t"v4" ', [3, 4]],
  [',"v3",,"v4",', [3, 4]],
  ['W/"v3"', []],
  ['"v3.7", "v4"', [{ version: 3, minor: 7 }, 4]],
  ['"v3.0"', []],
  ['W/"v3", "v4"', [4]],
  ['"other"', []],
  ['""', []],
  ['"v03"', []],
  ['"v-1"', []],
  ['"v1e1"', []],
  ['"v99999999999999999999"', []],
  ['"a,b", "v3"', [3]],
  ['"*"', []],
  ['', []],
];
const MALFORMED = [
  'v3',
  '3',
  '"v3',
  'v3"',
  '"v3" "v4"',
  '*, "v3"',
  '"v3", *',
  'w/"v3"',
  'W/',
  "'v3'",
  '"v 3"',
];

t.test('If-Match', async (t) => {
  t.equal(ifMatch(request({})), undefined);
  t.strictSame(ifMatch(request({ 'if-none-match': '*' })), [], 'a change of what is not there');
  t.strictSame(ifMatch(request({ 'if-none-match': ' * ', 'if-match': '"v1"' })), []);
  t.equal(ifMatch(request({ 'if-none-match': '"v1"' })), undefined);
  for (const [header, versions] of MATCHES) {
    t.strictSame(ifMatch(request({ 'if-match': header })), versions, header);
  }
  for (const header of MALFORMED) {
    t.throws(
      () => ifMatch(request({ 'if-match': header })),
      { name: 'ServiceError', kind: 'invalid' },
      header,
    );
  }
  // No text takes long to be refused.
  t.throws(() => ifMatch(request({ 'if-match': `${'"a" '.repeat(4000)}` })));
  t.throws(() => ifMatch(request({ 'if-match': `${' ,'.repeat(8000)}x` })));
});

t.test('If-None-Match', async (t) => {
  const has = (header: string, etag = '"v3"') => notModified(request({ 'if-none-match': header }), etag);
  t.equal(notModified(request({}), '"v3"'), false);
  for (const header of ['"v3"', 'W/"v3"', '*', '"v1", "v3"', 'W/"x", W/"v3"'])
    t.equal(has(header), true, header);
  for (const header of ['"v2"', '"V3"', 'W/"v2"', '""', '']) t.equal(has(header), false, header);
  for (const header of ['v3', '"v3" x', '*, "v3"'])
    t.equal(has(header), false, `${header} is no list of tags`);
  t.equal(has('"v3"', 'W/"v3"'), true, 'comparison is weak');
});
