#!/usr/bin/env node
import { run } from './program.ts';

// The reader of a pipe, such as head, may have enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
process.exitCode = await run(process.argv.slice(2), process);
