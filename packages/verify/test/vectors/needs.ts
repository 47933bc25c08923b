import { accepted, refused, vector } from './cases.ts';
import { CLOCK, type Json, proof, thumbprint, token, type Vector } from './signing.ts';

const SINGLE = 'urn:gatehouse:acr:single-factor';
const MULTI = 'urn:gatehouse:acr:multi-factor';

const SCOPES: [held: string | undefined, needed: string[], isEnough: boolean][] = [
  ['notes:read', ['notes:read'], true],
  ['notes:read notes:write', ['notes:write'], true],
  ['notes:read notes:write', ['notes:write', 'notes:read'], true],
  ['notes:read notes:write', ['notes:read', 'notes:read'], true],
  ['notes:read', [], true],
  [undefined, [], true],
  [' notes:read  x', ['x'], true],
  ['openid', ['openid'], true],
  [undefined, ['notes:read'], false],
  ['', ['notes:read'], false],
  ['notes:read', ['notes:write'], false],
  ['notes:read', ['notes:read', 'notes:write'], false],
  ['notes:write', ['notes:read', 'notes:write'], false],
  ['notes', ['notes:read'], false],
  ['notes:read', ['notes'], false],
  ['notes:readx', ['notes:read'], false],
  ['Notes:Read', ['notes:read'], false],
  ['notes:*', ['notes:read'], false],
  ['notes:read,notes:write', ['notes:read'], false],
  ['notes:read\tnotes:write', ['notes:read'], false],
  ['x', ['__proto__'], false],
  ['x', ['constructor'], false],
  ['a b c', ['a', 'b', 'c', 'd'], false],
];

const insufficient = (needed: string[], scheme = 'Bearer') =>
  refused(403, 'insufficient_scope', `This needs the scope ${needed.join(' ')}.`, {
    scheme,
    more: [`scope="${needed.join(' ')}"`],
  });

export async function scopeVectors(): Promise<Vector[]> {
  const all: Vector[] = [];
  for (const [held, scopes, isEnough] of SCOPES) {
    const name = `needs ${JSON.stringify(scopes)}, has ${JSON.stringify(held ?? null)}`;
    const list = [...new Set((held ?? '').split(' ').filter((scope) => scope !== ''))];
    for (const sub of ['usr_1', 'cli_1']) {
      const caller = { scopes: list, subject: sub, kind: sub === 'usr_1' ? 'person' : 'machine' };
      const expected = isEnough ? accepted(caller) : insufficient(scopes);
      const signed = await token({ scope: held, sub });
      all.push(vector(`${caller.kind}: ${name}`, `Bearer ${signed}`, { needs: { scopes }, expected }));
    }
  }
  const bound = await token({ cnf: { jkt: await thumbprint() } });
  all.push(
    vector('a bound token without the scope', `DPoP ${bound}`, {
      needs: { scopes: ['admin'] },
      request: { headers: { dpop: await proof({ token: bound }) } },
      expected: insufficient(['admin'], 'DPoP'),
    }),
    vector('the scope before the sign-in', `Bearer ${await token()}`, {
      needs: { scopes: ['admin'], acr: 'phr', maxAge: 1 },
      expected: insufficient(['admin']),
    }),
  );
  return all;
}

type SignIn = { acr?: string; maxAge?: number };
const STRONGER = 'This needs a stronger sign-in.';
const NEWER = 'This needs a more recent sign-in.';

function weak(description: string, { acr, maxAge }: SignIn, scheme = 'Bearer'): Json {
  const more = [
    ...(acr === undefined ? [] : [`acr_values="${acr}"`]),
    ...(maxAge === undefined ? [] : [`max_age="${maxAge}"`]),
  ];
  return refused(401, 'insufficient_user_authentication', description, { scheme, more });
}

const STEP_UPS: [name: string, claims: Json, needs: SignIn, missing?: string | undefined][] = [
  ['recent', { auth_time: CLOCK - 290 }, { maxAge: 300 }],
  ['just recent enough', { auth_time: CLOCK - 300 }, { maxAge: 300 }],
  ['in the future', { auth_time: CLOCK + 30 }, { maxAge: 300 }],
  ['of this second, needed now', { auth_time: CLOCK }, { maxAge: 0 }],
  ['too old', { auth_time: CLOCK - 301 }, { maxAge: 300 }, NEWER],
  ['too old, needed now', { auth_time: CLOCK - 1 }, { maxAge: 0 }, NEWER],
  ['without a time', {}, { maxAge: 300 }, NEWER],
  ['without a time, any age needed', {}, { maxAge: 10 ** 10 }, NEWER],
  ['with a time that is a text', { auth_time: String(CLOCK) }, { maxAge: 300 }, NEWER],
  ['of a machine', { sub: 'cli_1' }, { maxAge: 300 }, NEWER],
  ['of a machine, strength', { sub: 'cli_1' }, { acr: SINGLE }, STRONGER],
  ['an equal acr of others', { acr: 'urn:example:gold' }, { acr: 'urn:example:gold' }],
  ['another acr of others', { acr: 'urn:example:gold' }, { acr: 'urn:example:platinum' }, STRONGER],
  ['phr, where an acr of others is needed', { acr: 'phr' }, { acr: 'urn:example:gold' }, STRONGER],
  ['an acr of others, where ours is needed', { acr: 'urn:example:gold' }, { acr: SINGLE }, STRONGER],
  ['no acr, where one of others is needed', {}, { acr: 'urn:example:gold' }, STRONGER],
  ['a substring', { acr: 'ph' }, { acr: 'phr' }, STRONGER],
  ['in capitals', { acr: 'PHR' }, { acr: 'phr' }, STRONGER],
  ['an acr that is a list', { acr: ['phr'] }, { acr: SINGLE }, STRONGER],
  ['an acr as a name of every object', { acr: 'constructor' }, { acr: SINGLE }, STRONGER],
];

export async function stepUpVectors(): Promise<Vector[]> {
  const order = [SINGLE, MULTI, 'phr'];
  const cases = [...STEP_UPS];
  for (const needed of order) {
    for (const held of [undefined, ...order]) {
      const isStrong = held !== undefined && order.indexOf(held) >= order.indexOf(needed);
      const claims = { acr: held, auth_time: CLOCK - 200 };
      const name = `${needed} with ${held ?? 'no acr'}`;
      cases.push([name, claims, { acr: needed }, isStrong ? undefined : STRONGER]);
      cases.push([
        `${name}, and recent`,
        claims,
        { acr: needed, maxAge: 300 },
        isStrong ? undefined : STRONGER,
      ]);
      cases.push([
        `${name}, and more recent`,
        claims,
        { acr: needed, maxAge: 100 },
        isStrong ? NEWER : STRONGER,
      ]);
    }
  }
  const all: Vector[] = [];
  for (const [name, claims, needs, missing] of cases) {
    const { acr, auth_time: authTime, sub = 'usr_1' } = claims;
    const caller = {
      subject: sub,
      ...(typeof acr === 'string' ? { acr } : {}),
      ...(typeof authTime === 'number' ? { authTime } : {}),
    };
    const expected = missing === undefined ? accepted(caller) : weak(missing, needs);
    all.push(vector(name, `Bearer ${await token(claims)}`, { needs, expected }));
  }
  const bound = await token({ cnf: { jkt: await thumbprint() } });
  all.push(
    vector('a bound token', `DPoP ${bound}`, {
      needs: { maxAge: 60 },
      request: { headers: { dpop: await proof({ token: bound }) } },
      expected: weak(NEWER, { maxAge: 60 }, 'DPoP'),
    }),
  );
  return all;
}
