import { randomBytes } from 'node:crypto';
import { createSealer, deriveKeys } from '@gatehouse/core/sealing';
import t from 'tap';

t.test('opens only under the same key and context, and only when unaltered', async (t) => {
  const key = randomBytes(32);
  const sealer = createSealer([key]);
  const sealed = sealer.seal('secret', 'context');
  t.equal(createSealer([key]).open(sealed, 'context'), 'secret');
  t.throws(() => createSealer([randomBytes(32)]).open(sealed, 'context'));
  t.throws(() => sealer.open(sealed, 'other'));
  for (const [index] of Buffer.from(sealed, 'base64url').entries()) {
    const altered = Buffer.from(sealed, 'base64url');
    altered[index] = (altered[index] ?? 0) ^ 1;
    t.throws(() => sealer.open(altered.toString('base64url'), 'context'), `byte ${index}`);
  }
  t.throws(() => sealer.open('AAAA', 'context'), 'too short');
  t.not(sealer.seal('secret', 'context'), sealed, 'a fresh nonce each time');
});

t.test('the first of several keys seals, and all of them open', async (t) => {
  const [old, next, third] = [randomBytes(32), randomBytes(32), randomBytes(32)];
  const sealedBefore = createSealer([old]).seal('secret', 'context');
  const both = createSealer([next, third, old]);
  t.equal(both.open(sealedBefore, 'context'), 'secret');
  t.equal(createSealer([next]).open(both.seal('secret', 'context'), 'context'), 'secret');
  t.throws(() => createSealer([next, third]).open(sealedBefore, 'context'));
  t.throws(() => both.open(sealedBefore, 'other'));
});

t.test('the format of what is stored stays', async (t) => {
  const key = Buffer.alloc(32, 7);
  const signingKey = 'w7ekQsYctatoyK2uvgOn_uY0wgfFvt-k37qY0KZQY1HCoW91bR335w';
  t.equal(createSealer(deriveKeys([key], 'signing keys')).open(signingKey, 'key_1'), '{"kty":"EC"}');
});

t.test('each purpose has a key of its own', async (t) => {
  const masters = [randomBytes(32), randomBytes(32)] as const;
  const [inUse, accepted] = deriveKeys(masters, 'a');
  t.same(deriveKeys(masters, 'a'), [inUse, accepted]);
  t.same(deriveKeys([masters[1]], 'a'), [accepted]);
  t.notSame(deriveKeys(masters, 'b')[0], inUse);
  t.same([inUse.length, accepted?.length], [32, 32]);
});
