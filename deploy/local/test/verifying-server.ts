import { createServer } from 'node:http';
import { createVerifier, VerifyError } from '@gatehouse/verify/verifier';

/** A process of an API of somebody else. It prints each change of the verifier's state. */
const { GATEHOUSE = '', AUDIENCE = '', CLIENT_ID = '', CLIENT_SECRET = '', PORT = '' } = process.env;
const verifier = createVerifier({
  issuer: GATEHOUSE,
  audience: AUDIENCE,
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  log: (line) => process.stdout.write(`${line}\n`),
});
createServer(async (request, response) => {
  try {
    await verifier.verify(request, { scopes: ['notes:read'] });
    response.writeHead(200).end();
  } catch (error) {
    response.writeHead(error instanceof VerifyError ? error.status : 500).end();
  }
}).listen(Number(PORT), '127.0.0.1', () => process.stdout.write('listening\n'));
