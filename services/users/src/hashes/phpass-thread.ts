import { createHash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import type { PhpassInput } from './hash-formats.ts';

// The script of a thread, since thousands of rounds of MD5 would keep others waiting.
const { password, salt, rounds } = workerData as PhpassInput;
const md5 = (prefix: Uint8Array) => createHash('md5').update(prefix).update(password).digest();
let digest = md5(salt);
for (let round = 0; round < rounds; round += 1) digest = md5(digest);
parentPort?.postMessage(digest);
