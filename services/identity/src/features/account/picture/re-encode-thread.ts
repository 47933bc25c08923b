// The thread of reEncode().
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import decodeJpeg, { init as initJpeg } from '@jsquash/jpeg/decode.js';
import decodePng, { init as initPng } from '@jsquash/png/decode.js';
import decodeWebp, { init as initWebp } from '@jsquash/webp/decode.js';
import encodeWebp, { init as initEncoder } from '@jsquash/webp/encode.js';
import { MAX_SIDE } from './picture.ts';
import type { ReEncodeInput } from './re-encode.ts';

type Pixels = { data: Uint8ClampedArray; width: number; height: number };

/** The class of browsers that the decoders make their results with. */
class ImageData implements Pixels {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;

  constructor(data: Uint8ClampedArray, width: number, height: number) {
    this.data = data;
    this.width = width;
    this.height = height;
  }
}
Object.assign(globalThis, { ImageData });

const codeOf = (path: string) => readFileSync(fileURLToPath(import.meta.resolve(`@jsquash/${path}.wasm`)));
const emscripten = (path: string) => ({ wasmBinary: codeOf(path) });

async function decode({ bytes, type }: ReEncodeInput): Promise<Pixels> {
  const file = bytes.slice().buffer;
  switch (type) {
    case 'png':
      await initPng(codeOf('png/codec/pkg/squoosh_png_bg'));
      return decodePng(file);
    case 'jpeg':
      await initJpeg(emscripten('jpeg/codec/dec/mozjpeg_dec'));
      return decodeJpeg(file, { preserveOrientation: true });
    case 'webp':
      await initWebp(emscripten('webp/codec/dec/webp_dec'));
      return decodeWebp(file);
  }
}

/** For each of `count` equal parts of a line of pixels, those in it and how much of each. */
const partsOf = (length: number, count: number) =>
  Array.from({ length: count }, (_, part) => {
    const [from, to] = [(part * length) / count, ((part + 1) * length) / count];
    const first = Math.floor(from);
    return Array.from({ length: Math.ceil(to) - first }, (_, i) => ({
      at: first + i,
      share: Math.min(to, first + i + 1) - Math.max(from, first + i),
    }));
  });

/** Scaled down to MAX_SIDE, if it is larger: each pixel is the mean of those that it takes the place of. */
function scaleDown({ data, width, height }: Pixels): Pixels {
  const scale = Math.min(1, MAX_SIDE / Math.max(width, height));
  const columns = partsOf(width, Math.max(1, Math.round(width * scale)));
  const rows = partsOf(height, Math.max(1, Math.round(height * scale)));
  const scaled = new Uint8ClampedArray(columns.length * rows.length * 4);
  let at = 0;
  for (const row of rows) {
    for (const column of columns) {
      let [red, green, blue, opacity, area] = [0, 0, 0, 0, 0];
      for (const y of row) {
        for (const x of column) {
          const from = (y.at * width + x.at) * 4;
          const share = x.share * y.share;
          // The colour of a transparent pixel counts for nothing.
          const alpha = share * (data[from + 3] ?? 0);
          red += alpha * (data[from] ?? 0);
          green += alpha * (data[from + 1] ?? 0);
          blue += alpha * (data[from + 2] ?? 0);
          opacity += alpha;
          area += share;
        }
      }
      const visible = opacity || 1;
      scaled.set([red / visible, green / visible, blue / visible, opacity / area], at);
      at += 4;
    }
  }
  return new ImageData(scaled, columns.length, rows.length);
}

const pixels = scaleDown(await decode(workerData as ReEncodeInput));
await initEncoder(emscripten('webp/codec/enc/webp_enc_simd'));
parentPort?.postMessage(new Uint8Array(await encodeWebp(pixels, { quality: 85 })));
