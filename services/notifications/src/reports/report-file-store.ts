import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import mongoose, { type Connection } from 'mongoose';
import type { ReportFileStore } from './report.ts';

const BUCKET = 'report_files';

/** Files in GridFS, whose names are the id of the report, and whose ids are those of the attempts to make it. */
export function createReportFileStore(connection: Connection): ReportFileStore {
  let made: mongoose.mongo.GridFSBucket | undefined;
  /** Made when the connection is open. */
  function bucket(): mongoose.mongo.GridFSBucket {
    if (connection.db === undefined) throw new Error('the database is not connected');
    made ??= new mongoose.mongo.GridFSBucket(connection.db, { bucketName: BUCKET });
    return made;
  }
  const files = () => connection.collection<{ _id: string; filename: string }>(`${BUCKET}.files`);
  const chunksOf = () => connection.collection<{ files_id: string }>(`${BUCKET}.chunks`);

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
    read: (fileId, { start, end }) => bucket().openDownloadStream(fileId as never, { start, end }),
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
