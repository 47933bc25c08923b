import { setTimeout as after } from 'node:timers/promises';
import t from 'tap';
import { readHeader } from '../../../../src/features/account/picture/picture.ts';
import { reEncode } from '../../../../src/features/account/picture/re-encode.ts';
import { JPEG, manyScans, png, WEBPS, withExif } from './sample-pictures.ts';

const headerOf = (bytes: Uint8Array) => readHeader(Buffer.from(bytes));
const chunksOf = (bytes: Uint8Array) =>
  Buffer.from(bytes)
    .toString('latin1')
    .match(/VP8[ LX]|ALPH|EXIF|XMP |ICCP|ANIM/g);

t.test('the pixels are kept, and nothing else', async (t) => {
  for (const [name, file] of [
    ['JPEG', JPEG],
    ['PNG', png(16, 8)],
    ...WEBPS.map((webp) => ['WebP', webp] as const),
  ] as const) {
    const encoded = await reEncode(file);
    t.match(headerOf(encoded), { type: 'webp', width: 16, height: 8 }, name);
    const own = new Set(['VP8 ', 'VP8X', 'ALPH']);
    t.ok(
      chunksOf(encoded)?.every((it) => own.has(it)),
      `${name} ${chunksOf(encoded)}`,
    );
  }
});

t.test('a picture loses where it was taken, and is not turned', async (t) => {
  const file = withExif(JPEG);
  t.ok(file.includes('GPSLatitude'));
  const encoded = Buffer.from(await reEncode(file));
  t.notOk(encoded.includes('GPS') || encoded.includes('Exif') || encoded.includes('EXIF'));
  t.match(headerOf(encoded), { width: 8, height: 16 });
});

t.test('comments, and what follows a picture, are lost', async (t) => {
  for (const tail of ['<script>alert(1)</script>', 'PK\x03\x04 an archive']) {
    for (const file of [png(16, 8), JPEG, ...WEBPS]) {
      const encoded = Buffer.from(await reEncode(Buffer.concat([file, Buffer.from(tail)])));
      t.notOk(encoded.includes(tail));
      t.notOk(encoded.includes('secret-comment'));
    }
  }
});

t.test('a large picture is scaled down', async (t) => {
  for (const [width, height, scaled] of [
    [1024, 600, [512, 300]],
    [513, 1026, [256, 512]],
    [3000, 1, [512, 1]],
    [512, 512, [512, 512]],
  ] as const) {
    const found = headerOf(await reEncode(png(width, height)));
    t.strictSame([found?.width, found?.height], scaled);
  }
});

t.test('files of other types are refused', async (t) => {
  const animation = Buffer.from(WEBPS[2] ?? []);
  animation.writeUInt8(animation.readUInt8(20) | 2, 20);
  for (const file of [
    '',
    '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    'GIF89a<script>alert(1)</script>',
    '<!doctype html><script>alert(1)</script>',
    '\x89PNG\r\n\x1a\n',
    '\xff\xd8\xff',
    '\xff\xd8\xff\xd0\xff\xc0',
    'RIFF\0\0\0\0WEBPVP8 ',
    animation,
  ]) {
    await t.rejects(reEncode(Buffer.from(file as string, 'latin1')), {
      kind: 'invalid',
      message: 'Choose a PNG, JPEG or WebP picture that is not animated.',
    });
  }
});

t.test('a file that only begins like a picture is refused', async (t) => {
  for (const file of [JPEG.subarray(0, 180), png(16, 8).subarray(0, 90), WEBPS[0]?.subarray(0, 40)]) {
    await t.rejects(reEncode(Buffer.from(file ?? [])), { kind: 'invalid', message: /cannot be read/ });
  }
});

t.test('a picture of too many pixels is refused before it is decoded', async (t) => {
  const jpeg = Buffer.from(JPEG);
  jpeg.writeUInt32BE(0x75307530, jpeg.indexOf('ffc0', 'hex') + 5);
  const lossy = Buffer.from(WEBPS[0] ?? []);
  lossy.writeUInt32LE(0x3fff3fff, 26);
  const lossless = Buffer.from(WEBPS[1] ?? []);
  lossless.writeUInt32LE(0x0fffffff, 21);
  const extended = Buffer.from(WEBPS[2] ?? []);
  extended.fill(0xff, 24, 30);
  for (const file of [png(1, 1, { says: [30_000, 30_000] }), jpeg, lossy, lossless, extended]) {
    const begin = performance.now();
    await t.rejects(reEncode(file), {
      kind: 'invalid',
      message: 'Choose a picture of at most 8 megapixels.',
    });
    t.ok(performance.now() - begin < 50, 'at once');
  }
});

/** The longest time for which the event loop was held up by the work, in milliseconds. */
async function longestDelay(work: Promise<unknown>): Promise<number> {
  let isDone = false;
  work.then(() => {
    isDone = true;
  });
  let longest = 0;
  for (let last = performance.now(); !isDone; last = performance.now()) {
    await after(5);
    longest = Math.max(longest, performance.now() - last);
  }
  return Math.round(longest);
}

t.test('neither the largest picture nor a hostile one holds up the event loop', async (t) => {
  const large = reEncode(png(4000, 2000));
  t.ok((await longestDelay(large)) < 200);
  t.match(headerOf(await large), { width: 512, height: 256 });

  const begin = performance.now();
  const hostile = t.rejects(reEncode(manyScans()), { kind: 'invalid', message: /cannot be read/ });
  t.ok((await longestDelay(hostile)) < 200);
  t.ok(performance.now() - begin < 10_000, 'it is given up');
});

t.test('one picture is decoded at a time', async (t) => {
  const begun = performance.now();
  await reEncode(png(2000, 2000));
  const alone = performance.now() - begun;
  const ends = await Promise.all(
    [1, 2, 3].map(() => reEncode(png(2000, 2000)).then(() => performance.now())),
  );
  const gaps = ends.slice(1).map((end, i) => end - (ends[i] ?? 0));
  t.ok(
    gaps.every((gap) => gap > alone / 4),
    `${gaps} after one another, of ${alone} ms`,
  );
});
