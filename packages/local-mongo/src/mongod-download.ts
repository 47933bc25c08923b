// usage: node mongod-download.ts DIRECTORY
// Downloads MongoDB's own mongod if needed, and prints its path as the last line. A separate process, because a download
// can only be aborted by ending the process, and because it writes its progress to stdout.
import process from 'node:process';
import { MongoBinary } from 'mongodb-memory-server-core';

const [downloadDir = ''] = process.argv.slice(2);
try {
  const path = await MongoBinary.getPath({ downloadDir });
  process.stdout.write(`\n${path}\n`);
} catch (error) {
  process.stderr.write(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
