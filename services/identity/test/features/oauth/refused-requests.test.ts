import t from 'tap';
import { DEVICE_CODE_GRANT } from '../../../src/core/applications/application.ts';
import { build, codeFor, PASSWORD, SPA, WEB } from '../../build.ts';
import { type JsonResponse, pkce, tokensFor } from '../../tokens.ts';

// A request that is refused for another reason than its code or refresh token uses neither up.

const built = await build(t, { checkResponses: true });
const admin = await built.login('admin');
const { client_id: television } = await built.createApplication(admin, {
  ...{ name: 'Television', type: 'native', scopes: ['openid', 'read:data'], device_flow: true },
});

type Form = Record<string, string>;
/** The right request for each kind of token. */
const KINDS: Record<string, () => Promise<Form>> = {
  async code() {
    return { grant_type: 'authorization_code', code: await codeFor(built.browser()), ...WEB };
  },
  async 'code of a public client'() {
    const { code_verifier, challenge } = pkce();
    const code = await codeFor(built.browser(), { ...SPA, ...challenge });
    return { grant_type: 'authorization_code', code, code_verifier, ...SPA };
  },
  async 'refresh token'() {
    const { refresh_token } = await tokensFor(built);
    const { redirect_uri: _, ...client } = WEB;
    return { grant_type: 'refresh_token', refresh_token, ...client };
  },
  async 'refresh token of a public client'() {
    const { refresh_token } = await tokensFor(built, { client: SPA });
    return { grant_type: 'refresh_token', refresh_token, client_id: SPA.client_id };
  },
  async 'device code'() {
    const asked = await built.form({ client_id: television }, {}, '/oauth2/device_authorization');
    const { device_code, user_code } = asked.body as Form;
    const person = built.browser();
    const verify = await person.submit(await person.get('/device'), { user_code: String(user_code) });
    const signIn = await person.submit(verify, {});
    await person.submit(await person.submit(signIn, { username: 'ann', password: PASSWORD }), {
      decision: 'allow',
    });
    return { grant_type: DEVICE_CODE_GRANT, device_code: String(device_code), client_id: television };
  },
};

/** The fields or headers that make a request wrong. */
const REFUSALS: [error: string, change: Form, headers?: Form][] = [
  ['invalid_target', { resource: 'https://nowhere.example/' }],
  ['invalid_target', { resource: 'no-uri' }],
  ['invalid_dpop_proof', {}, { dpop: 'no.proof.at-all' }],
  ['invalid_grant', { code_verifier: 'x'.repeat(43), redirect_uri: 'https://elsewhere.example/' }],
  ['invalid_scope', { scope: 'openid write:everything' }],
];
/** For these kinds, the field means nothing. */
const isIgnored = (kind: string, change: Form) =>
  ('scope' in change && !kind.startsWith('refresh')) ||
  ('redirect_uri' in change && !kind.startsWith('code'));

for (const [kind, rightRequest] of Object.entries(KINDS)) {
  t.test(`a ${kind} works after each request that was refused`, async (t) => {
    const right = await rightRequest();
    for (const [error, change, headers] of REFUSALS) {
      if (isIgnored(kind, change)) continue;
      const refused: JsonResponse = await built.form({ ...right, ...change }, headers);
      t.match(refused, { status: 400, body: { error } }, JSON.stringify([change, headers]));
    }
    t.match(await built.form(right), { status: 200, body: { access_token: String } });
  });
}
