import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { ServiceError, unavailable } from '@gatehouse/core/errors';
import { createKeyedSemaphore } from '@gatehouse/core/keyed-semaphore';
import { MAX_PIXELS, readHeader, type UploadType } from './picture.ts';

/** The work of re-encode-thread.ts. */
export type ReEncodeInput = { bytes: Uint8Array; type: UploadType };

/** Far more than a picture of MAX_PIXELS takes. A JPEG can ask for many passes over its pixels. */
const MAX_MS = 3000;
const MAX_WAIT_MS = 10_000;
/** One at a time, as the pixels of one may take 150 MB. */
const threads = createKeyedSemaphore({ permits: 1, maxWaiting: 20 });

/**
 * The pixels of an uploaded picture as WebP, scaled down and without anything else that was in the file. The decoders are
 * WebAssembly, in a thread of its own: the event loop goes on, and code in a hostile picture would reach neither keys nor
 * files. Throws `invalid` for what is no picture or too many pixels, and `unavailable` when too many are waiting.
 */
export async function reEncode(bytes: Buffer): Promise<Uint8Array> {
  const header = readHeader(bytes);
  if (header === undefined) {
    throw new ServiceError('invalid', 'Choose a PNG, JPEG or WebP picture that is not animated.');
  }
  const { type, width, height } = header;
  if (width * height > MAX_PIXELS) {
    throw new ServiceError('invalid', 'Choose a picture of at most 8 megapixels.');
  }
  if (!(await threads.acquire('', MAX_WAIT_MS))) throw unavailable('Too many pictures are being uploaded.');
  try {
    const workerData: ReEncodeInput = { bytes, type };
    const thread = new Worker(new URL('./re-encode-thread.ts', import.meta.url), {
      ...{ workerData, env: {}, stdout: true, stderr: true },
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
    });
    try {
      const [encoded] = await once(thread, 'message', { signal: AbortSignal.timeout(MAX_MS) });
      return encoded as Uint8Array;
    } finally {
      await thread.terminate();
    }
  } catch (cause) {
    throw new ServiceError('invalid', 'The picture cannot be read. Choose another one.', { cause });
  } finally {
    threads.release('');
  }
}
