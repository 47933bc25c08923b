import { repetitions } from '@gatehouse/testing/repetitions';
import t from 'tap';
import { createOwnerTurns, createSlotTimes, type Turn } from '../src/owner-turns.ts';

/** Runs jobs for so many milliseconds of a simulated clock. Returns the slot-time of each owner, and when each first had a slot. */
function simulate(slots: number, ms: number, owners: Record<string, { jobMs: number; from?: number }>) {
  const turns = createOwnerTurns(slots);
  const running: { turn: Turn; until: number; since: number }[] = [];
  const used: Record<string, number> = {};
  const first: Record<string, number> = {};
  for (let now = 0; now < ms; now += 1) {
    for (const it of running.filter(({ until }) => until <= now)) {
      running.splice(running.indexOf(it), 1);
      turns.ended(it.turn, now - it.since);
    }
    for (const [owner, { from = 0 }] of Object.entries(owners))
      if (now === from) turns.ready({ priority: 'normal', owner });
    for (const turn of turns.take(slots)) {
      const jobMs = owners[turn.owner]?.jobMs ?? 1;
      first[turn.owner] ??= now;
      used[turn.owner] = (used[turn.owner] ?? 0) + jobMs;
      running.push({ turn, until: now + jobMs, since: now });
    }
  }
  return { used, first };
}

t.test('an owner who comes later waits for nobody, whatever the others do', async (t) => {
  for (const slots of [8, 16, 64]) {
    const flood = simulate(slots, 3000, { slow: { jobMs: 1000 }, late: { jobMs: 5, from: 1500 } });
    t.ok((flood.first.late ?? 9999) - 1500 < 10, `${slots} slots`);
  }
  const few = simulate(2, 3000, { slow: { jobMs: 1000 }, late: { jobMs: 5, from: 1500 } });
  t.ok((few.first.late ?? 9999) <= 2010, 'with few slots it waits for one job');
});

t.test('owners get the same slot-time, whatever their jobs take', async (t) => {
  const { used } = simulate(16, 30_000, { fast: { jobMs: 5 }, slow: { jobMs: 300 }, other: { jobMs: 40 } });
  const shares = Object.values(used);
  t.ok(Math.max(...shares) / Math.min(...shares) < 1.8, JSON.stringify(used));
});

t.test('an owner who is alone has seven eighths of the slots, and all of a few', async (t) => {
  for (const [slots, expected] of [
    [1, 1],
    [4, 4],
    [8, 7],
    [64, 56],
  ] as const) {
    const turns = createOwnerTurns(slots);
    turns.ready({ priority: 'normal', owner: 'ann' });
    t.equal(turns.take(slots).length, expected, `${slots}`);
    t.equal(turns.free(), slots - expected);
  }
});

t.test(
  'the owners with the most slot-time in the last hour or so are known, however many there are',
  async (t) => {
    let now = 0;
    const times = createSlotTimes(() => now);
    const owners = () => times.top().map(({ owner, ms }) => `${owner} ${ms}`);
    t.same(owners(), []);
    for (let i = 0; i < 5000; i += 1) {
      times.add(`few ${i}`, 1);
      if (i % 100 === 0) times.add('much', 10);
    }
    times.add('more', 600);
    t.same(owners().slice(0, 2), ['more 600', 'much 500']);
    t.equal(owners().length, 10);
    now += 1_900_000;
    times.add('much', 200);
    t.same(owners().slice(0, 2), ['much 700', 'more 600']);
    now += 1_900_000;
    t.same(owners(), ['much 200']);
    now += 3_700_000;
    t.same(owners(), []);
  },
);

t.test('owners without jobs are forgotten', async (t) => {
  const turns = createOwnerTurns(8);
  for (let i = 0; i < 1000; i += 1) {
    const of = { priority: 'normal', owner: `own_${i}` } as const;
    turns.ready(of);
    const [turn, ...unused] = turns.take(8);
    for (const it of unused) turns.ended(it, undefined);
    turns.drained(of);
    turns.ended(turn as Turn, 5);
  }
  t.equal(turns.size(), 0);
});

t.test('whatever happens, no slot is given twice and none is lost', async (t) => {
  for (let seed = 0; seed < repetitions(40); seed += 1) {
    const slots = 1 + (seed % 20);
    const turns = createOwnerTurns(slots);
    const held: Turn[] = [];
    for (let step = 0; step < 200; step += 1) {
      const place = {
        priority: (['high', 'normal', 'low'] as const)[step % 3] ?? 'low',
        owner: `o${Math.floor(Math.random() * 5)}`,
      };
      const kind = Math.random();
      if (kind < 0.3) turns.ready(place);
      else if (kind < 0.4) turns.drained(place);
      else if (kind < 0.7) held.push(...turns.take(1 + Math.floor(Math.random() * slots)));
      else
        for (const turn of held.splice(0, 1 + Math.floor(Math.random() * 3)))
          turns.ended(turn, Math.random() < 0.2 ? undefined : step);
      if (turns.free() !== slots - held.length || held.length > slots) t.fail(`seed ${seed}, step ${step}`);
    }
  }
  t.pass();
});
