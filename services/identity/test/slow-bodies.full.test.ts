import { once } from 'node:events';
import { connect } from 'node:net';
import { BODY_SECONDS } from '@gatehouse/api/http/request-body';
import t from 'tap';
import { build } from './build.ts';

t.setTimeout(60_000);

t.test('a body that does not end is given up, wherever one is read', async (t) => {
  const { base, login, people, serviceToken } = await build(t);
  const [token, internal] = [await login('admin'), await serviceToken('users')];
  const [JSON_TYPE, FORM] = ['application/json', 'application/x-www-form-urlencoded'];
  const begin = performance.now();
  const responses = [
    ['POST', '/v1/users', JSON_TYPE, token],
    ['DELETE', `/v1/users/${people.ann.id}`, JSON_TYPE, token],
    ['POST', '/api/v1/applications', JSON_TYPE, token],
    ['POST', '/internal/identity/account-changes', JSON_TYPE, internal],
    ['POST', '/api/v1/auth/login', JSON_TYPE],
    ['POST', '/oauth/token', JSON_TYPE],
    ['POST', '/oauth2/token', FORM],
    ['POST', '/oauth2/par', FORM],
    ['POST', '/oauth2/revoke', FORM],
    ['POST', '/oauth2/authorize', FORM],
    ['POST', '/account/forgotten-password', FORM],
  ].map(async ([method, path, type, credential]) => {
    const socket = connect(Number(new URL(base).port), '127.0.0.1');
    t.teardown(() => socket.destroy());
    const authorization = credential === undefined ? '' : `authorization: Bearer ${credential}\r\n`;
    socket.write(
      `${method} ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\n${authorization}content-length: 5000\r\n\r\n{`,
    );
    const trickle = setInterval(() => socket.write(' '), 1000);
    t.teardown(() => clearInterval(trickle));
    const [received] = await once(socket, 'data');
    clearInterval(trickle);
    t.match(String(received), /^HTTP\/1\.1 408 /, String(path));
  });
  await Promise.all(responses);
  t.ok(performance.now() - begin < (BODY_SECONDS + 15) * 1000);
});
