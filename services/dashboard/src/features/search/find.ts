import { isId } from '@gatehouse/core/ids';
import { ApiError } from '../../api/api-error.ts';
import { matches } from '../../api/matching.ts';
import { pathOf } from '../../pages/layout.ts';
import type { Found, Hit, Section } from '../../routes/dashboard-router.ts';
import type { Visit } from '../../routes/visit.ts';
import { hasRole } from '../../sessions/session.ts';
import type { Task } from './tasks.ts';

/** The titles that the search covers, beside the objects of the API. */
export type Titles = {
  sections: readonly Section[];
  /** Pages that are in no section. */
  pages: readonly Hit[];
  /** Finds pages of the documentation. */
  docs(text: string): Promise<Found>;
  tasks?: readonly Task[];
};

/** The results of one kind, and the list with more of them if these are only the first. */
export type Group = Found & { title: string };

export type Results = {
  groups: readonly Group[];
  /** The titles of the sections that could not be searched. */
  failed: readonly string[];
  /** The object with the id that was searched for. */
  exact?: Hit;
  /** Whether the text is an id, so that nothing else was searched for. */
  isId: boolean;
};

/** The most results of one kind. */
const MAX_HITS = 5;
/** How many requests of a search run at a time, and how long a search waits for all of them. */
const MAX_CONCURRENT = 4;
const MAX_MS = 3000;

type Query = { title: string; run(): Promise<Found> };

/** Finds an object by its id, or else what has such words in its name or title. */
export async function find(
  { sections, pages, docs, tasks = [] }: Titles,
  visit: Visit,
  text: string,
  maxMs = MAX_MS,
): Promise<Results> {
  for (const { title, search } of sections) {
    for (const [prefix, byId] of Object.entries(search?.byId ?? {})) {
      if (!isId(prefix, text)) continue;
      const run = async () => ({ hits: [await byId(visit, text)] });
      const { groups, failed } = await runAll([{ title, run }], maxMs);
      const exact = groups[0]?.hits[0];
      return { groups, failed, isId: true, ...(exact && { exact }) };
    }
  }
  const visible = sections.filter(({ role }) => hasRole(visit.person, role));
  const queries = visible.flatMap(({ title, search }): Query[] => {
    const byName = search?.byName;
    return byName === undefined ? [] : [{ title, run: () => byName(visit, text) }];
  });
  const ownPages = visible.flatMap(({ name, title, search }) => [
    { href: pathOf(name), title },
    ...(search?.pages ?? []).filter(({ role }) => hasRole(visit.person, role)),
  ]);
  const titled = (title: string, hits: readonly Hit[]) => {
    return groupOf(title, { hits: hits.filter((hit) => matches(text, hit.title)) });
  };
  const wanted = tasks.filter(
    ({ title, words, role }) => hasRole(visit.person, role) && matches(text, title, words),
  );
  // Afterwards, since the first search of the documentation reads all of it, for which the services would wait.
  const own = await runAll(queries, maxMs);
  const found = [own, await runAll([{ title: 'Documentation', run: () => docs(text) }], maxMs)];
  return {
    groups: [
      titled('Pages', [...ownPages, ...pages]),
      groupOf('Tasks', { hits: wanted }),
      ...found.flatMap(({ groups }) => groups),
    ].filter(({ hits }) => hits.length > 0),
    failed: found.flatMap(({ failed }) => failed),
    isId: false,
  };
}

/** The results of the queries in their order, without those that failed or took too long. */
async function runAll(
  queries: readonly Query[],
  maxMs: number,
): Promise<{ groups: Group[]; failed: string[] }> {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      isOver = true;
      resolve(undefined);
    }, maxMs);
  });
  const outcomes: (Found | undefined)[] = queries.map(() => undefined);
  const left = [...queries.entries()];
  async function work(): Promise<void> {
    for (let next = left.shift(); next !== undefined && !isOver; next = left.shift()) {
      const [at, query] = next;
      outcomes[at] = await Promise.race([deadline, outcomeOf(query)]);
    }
  }
  try {
    await Promise.all(Array.from({ length: MAX_CONCURRENT }, work));
  } finally {
    clearTimeout(timer);
  }
  const groups = queries.flatMap(({ title }, at) => groupOf(title, outcomes[at] ?? { hits: [] }));
  const failed = queries.flatMap(({ title }, at) => (outcomes[at] === undefined ? [title] : []));
  return { groups: groups.filter(({ hits }) => hits.length > 0), failed };
}

/** Undefined where the service is away. What the API refuses, the person may not see, or cannot be called so. */
async function outcomeOf({ run }: Query): Promise<Found | undefined> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 401) throw error;
    return error.isUnavailable || error.status === 429 ? undefined : { hits: [] };
  }
}

/** The first results of one kind. */
function groupOf(title: string, { hits, all }: Found): Group {
  return {
    title,
    hits: hits.slice(0, MAX_HITS),
    ...(all !== undefined && hits.length > MAX_HITS && { all }),
  };
}
