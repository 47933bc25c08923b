// A server of bench/verify.ts: the port that it listens on is its output. `/open` needs nothing, `/protected` an access token.
import type { AddressInfo } from 'node:net';
import { protect } from '@gatehouse/verify/express';
import express from 'express';
import { localVerifier } from '../test/local.ts';

const notes = Array.from({ length: 10 }, (_, id) => ({ id, text: 'A note' }));
const app = express();
app.get('/open', (_request, response) => void response.json({ notes }));
app.get('/protected', protect(localVerifier(), { scopes: ['notes:read'] }), (_request, response) => {
  response.json({ notes });
});
const server = app.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
