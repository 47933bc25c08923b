// usage: node mongod-download.ts DIRECTORY
// Prints the path of MongoDB's own mongod as the last line, after downloading it if need be. A process of its
// own, because a download can only be given up by ending it, and because it writes its progress to stdout.
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
