import t from 'tap';
import type { AuditEntry } from '../../src/core/audit/audit.ts';
import { createKeyAdministration } from '../../src/keys/key-administration.ts';
import { rotateSigningKeys } from '../../src/keys/key-rotation.ts';
import { loadSigningKeys } from '../../src/keys/signing-keys.ts';
import { setUpKeys } from './set-up.ts';

const origin = { address: '192.0.2.1', userAgent: undefined, requestId: 'req_1' };

t.test('every state that a key goes through', async (t) => {
  const { store, sealer, kids, passSeconds } = await setUpKeys(t);
  await loadSigningKeys(store, sealer);
  const log: AuditEntry[] = [];
  let rotations = 0;
  const administration = createKeyAdministration({
    ...{ store, sealer },
    audit: { record: async (entry) => void log.push(entry) },
    onRotated: () => {
      rotations += 1;
    },
  });
  const states = async () =>
    (await administration.list())
      .filter(({ algorithm }) => algorithm === 'ES256')
      .map(({ kid, state, createdAt, activatedAt, retiredAt }) => [
        ...[kid, state],
        ...[createdAt, activatedAt, retiredAt].map((date) => date !== null),
      ]);

  const { current, next } = await kids();
  await passSeconds(16 * 60);
  await administration.rotate([current], { force: false, by: 'usr_root', origin });
  const { next: third } = await kids();
  t.same(await states(), [
    [third, 'next', true, false, false],
    [next, 'current', true, true, false],
    [current, 'previous', true, true, true],
  ]);
  const details = { algorithm: 'ES256', retired: current, current: next };
  t.same(log, [{ action: 'keys.rotated', origin, actor: 'usr_root', details }]);
  t.equal(rotations, 1);

  await rotateSigningKeys(store, sealer, { compromised: true });
  const retired = (await states()).filter(([, state]) => state === 'retired');
  t.same(
    retired,
    [third, next, current]
      .toSorted()
      .reverse()
      .map((kid) => [kid, 'retired', false, false, true]),
  );
  await administration.rotate([next], { force: false, by: 'usr_root', origin });
  t.same([log.length, rotations], [1, 1], 'it has been replaced already');
});
