import { randomBytes } from 'node:crypto';
import t from 'tap';
import { createChallenges } from '../../../src/features/passkeys/challenges.ts';

function challengesOf(keys: readonly Buffer[], seconds = 60) {
  const used = new Set<string>();
  return createChallenges({
    keys: keys as [Buffer],
    seconds,
    async useOnce(name) {
      const isFirst = !used.has(name);
      used.add(name);
      return isFirst;
    },
  });
}

t.test('a challenge is accepted once, in the context that it was issued for, until it expires', async (t) => {
  const [key, other] = [randomBytes(32), randomBytes(32)];
  const challenges = challengesOf([key]);
  const challenge = challenges.issue('here');
  t.match(challenge, /^[\w-]{72}$/);
  t.equal(await challenges.use(challenge, 'there'), false, 'in another context');
  t.equal(await challengesOf([other]).use(challenge, 'here'), false, 'by another key');
  t.equal(await challenges.use(`${challenge}=`, 'here'), true, 'at first');
  t.equal(await challenges.use(challenge, 'here'), false, 'again, however it is written');
  t.equal(await challengesOf([other, key]).use(challenge, 'here'), true, 'by a key that has been replaced');
  t.equal(await challenges.use(challengesOf([key], -1).issue('here'), 'here'), false, 'too late');
  for (const text of ['', 'x', randomBytes(54).toString('base64url'), '🐚'.repeat(40)]) {
    t.equal(await challenges.use(text, 'here'), false, text);
  }
  const bytes = Buffer.from(challenges.issue('here'), 'base64url');
  for (let i = 0; i < bytes.length; i += 1) {
    const altered = Buffer.from(bytes);
    altered[i] = (altered[i] ?? 0) ^ 1;
    t.equal(await challenges.use(altered.toString('base64url'), 'here'), false, `byte ${i}`);
  }
});
