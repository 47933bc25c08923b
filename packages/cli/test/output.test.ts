import t from 'tap';
import { createApiClient } from '../src/api-client.ts';
import { addressOf } from '../src/deployment.ts';
import { cell, createOutput, jsonOf } from '../src/output.ts';

t.test('values of the API are shown in one line, and cannot steer a terminal', async (t) => {
  const cases: [unknown, string][] = [
    [null, '-'],
    [[], '-'],
    [['a', 'b'], 'a, b'],
    [{ a: 1 }, '{"a":1}'],
    [false, 'false'],
    ['2026-11-29T22:26:25.606Z', '2026-11-29 22:26:25'],
    ['a\u001b[2Jb\r\nc\u009bd', 'a�[2Jb��c�d'],
    ['\u202eevil', '�evil'],
  ];
  for (const [value, shown] of cases) t.equal(cell(value), shown, JSON.stringify(value));
  const stream = { write: () => {} };
  const { facts } = createOutput({ stdout: stream, stderr: stream, json: false, colors: false });
  t.equal(facts({ 'a\u001b]0;x\u0007': 1 }), 'a�]0;x�  1', 'nor can the names of claims');
  const value = { 'a\u009b': ['\u001b\u007f\u202e', 'é\n'] };
  t.equal(jsonOf(value), '{"a\\u009b":["\\u001b\\u007f\\u202e","é\\n"]}');
  t.same(JSON.parse(jsonOf(value, 2)), value);
});

t.test('a link in a response leads to no other host', async (t) => {
  const client = createApiClient({
    url: 'http://127.0.0.1:1',
    userAgent: 'test',
    token: async () => 'secret',
  });
  for (const path of ['@evil.example/', '.evil.example/', ':80@evil.example/'])
    await t.rejects(client.request('GET', path), { message: /which is not a path/ }, path);
});

t.test('tokens are sent by https, or to this machine', async (t) => {
  for (const url of [
    'https://a.example/',
    'http://localhost:3000',
    'http://127.0.0.1:1',
    'http://[::1]:1',
    'http://a.localhost',
  ]) {
    t.equal(addressOf(url), url.replace(/\/$/, ''));
  }
  for (const url of [
    'http://a.example',
    'http://127.0.0.1.a.example',
    'http://localhost.a.example',
    'ftp://localhost',
    'a.example',
  ]) {
    t.throws(() => addressOf(url), url);
  }
});
