// usage: node database-holder.ts DATA_DIRECTORY
// A process that starts a MongoDB, prints its uri and pid as a line of JSON, and waits to be killed.
import process from 'node:process';
import { startLocalMongo } from '../src/start.ts';
import { recordingLogger } from './fixture.ts';

const [dataDir = ''] = process.argv.slice(2);
const { logger } = recordingLogger();
const { uri, pid } = await startLocalMongo({ dataDir, env: process.env, logger });
process.stdout.write(`${JSON.stringify({ uri, pid })}\n`);
