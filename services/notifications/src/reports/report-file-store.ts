import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { unavailable } from '@gatehouse/core/errors';
import { createKeyedSemaphore } from '@gatehouse/core/keyed-semaphore';
import mongoose, { type Connection } from 'mongoose';
import type { ReportFileStore } from './report.ts';

const BUCKET = 'report_files';
/** As every stored file has it. */
const CHUNK_BYTES = 255 * 1024;
/** The chunks that are read at a time for all downloads: many downloads that begin together must not block the event loop. */
const CONCURRENT_READS = { permits: 2, maxWaiting: 1000 };
const MAX_WAIT_MS = 30_000;

/** Files in GridFS, whose names are the id of the report, and whose ids are those of the attempts to make it. */
export function createReportFileStore(connection: Connection): ReportFileStore {
  let made: mongoose.mongo.GridFSBucket | undefined;
  /** Made when the connection is open. */
  function bucket(): mongoose.mongo.GridFSBucket {
    if (connection.db === undefined) throw new Error('the database is not connected');
    made ??= new mongoose.mongo.GridFSBucket(connection.db, {
      bucketName: BUCKET,
      chunkSizeBytes: CHUNK_BYTES,
    });
    return made;
  }
  const files = () => connection.collection<{ _id: string; filename: string }>(`${BUCKET}.files`);
  const chunksOf = () =>
    connection.collection<{ files_id: string; n: number; data: Buffer }>(`${BUCKET}.chunks`);

  const reads = createKeyedSemaphore(CONCURRENT_READS);

  async function readChunk(fileId: string, n: number): Promise<Buffer> {
    if (!(await reads.acquire('', MAX_WAIT_MS))) throw unavailable('Too many downloads are running.');
    try {
      const projection = { data: 1 };
      const chunk = await chunksOf().findOne({ files_id: fileId, n }, { projection, promoteBuffers: true });
      if (chunk === null) throw new Error(`a part of the file ${fileId} is missing`);
      return chunk.data;
    } finally {
      reads.release('');
    }
  }

  async function remove(fileId: string): Promise<void> {
    // Not bucket.delete(), which fails when there is no such file, and leaves the chunks of one that is incomplete.
    await files().deleteOne({ _id: fileId });
    await chunksOf().deleteMany({ files_id: fileId });
  }

  return {
    async write(fileId, chunks, signal) {
      const upload = bucket().openUploadStreamWithId(fileId as never, reportOf(fileId));
      await pipeline(Readable.from(chunks, { objectMode: false }), upload, { signal });
      return upload.length;
    },
    // Each chunk by a query of its own: the driver's stream reads ahead by 16 MB, and leaves its cursor open when it is destroyed.
    async *read(fileId, { start, end }) {
      for (let begin = start - (start % CHUNK_BYTES); begin < end; begin += CHUNK_BYTES) {
        const data = await readChunk(fileId, begin / CHUNK_BYTES);
        yield data.subarray(Math.max(start - begin, 0), end - begin);
      }
    },
    remove,
    async removeOthers(reportId, kept) {
      const ids = { $gte: `${reportId}.`, $lt: `${reportId}/` };
      const found = await chunksOf().distinct('files_id', { files_id: ids } as never);
      for (const id of found) if (id !== kept) await remove(String(id));
    },
  };
}

/** A file id is the report's and that of the attempt. */
const reportOf = (fileId: string) => fileId.split('.', 1)[0] ?? fileId;
