import { repetitions } from '@gatehouse/testing/repetitions';
import fc from 'fast-check';
import t from 'tap';
import { ALL, build, ITEMS } from './build.ts';

/** Between two pages: an item is created, or one of those that are there is deleted. */
const change = fc.oneof(
  fc.constant({ kind: 'create' as const, at: 0 }),
  fc.record({ kind: fc.constant('delete' as const), at: fc.nat() }),
);

t.test('a walk by cursor skips and repeats no item that stays', async (t) => {
  const { call, issuer } = await build(t);
  const people = ['ann', 'bob'];
  let walks = 0;
  const run = async (
    limit: number,
    steps: { kind: 'create' | 'delete'; at: number }[],
    backwards: boolean,
  ) => {
    walks += 1;
    // Two people, so that an owner's walk has others' items between its own.
    const [token = '', other = ''] = await Promise.all(
      people.map((name) => issuer.person(`usr_${name}_${walks}`, 'user', ALL)),
    );
    const create = async (as: string) =>
      (await call('POST', ITEMS, as, { name: 'walk', value: walks })).body.id;
    const stored = new Set<string>();
    for (let i = 0; i < 6; i += 1) {
      stored.add(await create(token));
      await create(other);
    }
    const stays = new Set(stored);
    const seen: string[] = [];
    const remaining = [...steps];
    async function walk(first: string, direction: 'next' | 'prev'): Promise<string | undefined> {
      let last: string | undefined;
      for (let link: string | undefined = first; link !== undefined; ) {
        const page: Awaited<ReturnType<typeof call>> = await call('GET', link, token);
        seen.push(...page.body.data.map(({ id }) => id));
        last = link;
        link = page.body.links[direction];
        const step = remaining.shift();
        if (step?.kind === 'create') stored.add(await create(token));
        else if (step !== undefined) {
          const id = [...stored][step.at % stored.size] ?? '';
          stored.delete(id);
          stays.delete(id);
          await call('DELETE', `${ITEMS}/${id}`, token);
        }
      }
      return last;
    }
    const last = await walk(`${ITEMS}?cursor=&limit=${limit}`, 'next');
    if (backwards && last !== undefined) {
      const page = await call('GET', last, token);
      seen.length = 0;
      seen.push(...page.body.data.map(({ id }) => id));
      if (page.body.links.prev !== undefined) await walk(page.body.links.prev, 'prev');
    }
    const repeated = seen.filter((id, i) => seen.indexOf(id) !== i);
    const skipped = [...stays].filter((id) => !seen.includes(id));
    t.same({ repeated, skipped }, { repeated: [], skipped: [] }, `limit ${limit}, ${steps.length} steps`);
    for (const id of stored) await call('DELETE', `${ITEMS}/${id}`, token);
  };
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(change, { maxLength: 6 }), fc.boolean(), run),
    { numRuns: repetitions(40) },
  );
});
