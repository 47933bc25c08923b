import { createVerifier } from '@gatehouse/verify/verifier';

const { GATEHOUSE = '', AUDIENCE = '', CLIENT_ID = '', CLIENT_SECRET = '', PORT = '' } = process.env;
const { FRAMEWORK, STALE = 'introspect' } = process.env;
const verifier = createVerifier({
  issuer: GATEHOUSE,
  audience: AUDIENCE,
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  // biome-ignore lint/suspicious/noThenProperty: the name of the option.
  stale: { then: STALE as 'introspect' | 'refuse' | 'accept' },
});
const needs = { scopes: ['notes:read'] };
const address = { host: '127.0.0.1', port: Number(PORT) };

if (FRAMEWORK === 'Express') {
  const [{ default: express }, { protect }] = await Promise.all([
    import('express'),
    import('@gatehouse/verify/express'),
  ]);
  const app = express();
  app.get('/notes', protect(verifier, needs), (request, response) => {
    response.json({ subject: request.caller?.subject });
  });
  app.listen(address.port, address.host);
} else {
  const [{ default: fastify }, { protect }] = await Promise.all([
    import('fastify'),
    import('@gatehouse/verify/fastify'),
  ]);
  const app = fastify();
  app.get('/notes', { onRequest: protect(verifier, needs) }, async () => ({ notes: [] }));
  await app.listen(address);
}
