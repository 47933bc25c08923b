import type { Database } from '@gatehouse/mongo/database';

type Stage = { stage: string; indexName?: string; inputStage?: Stage; inputStages?: Stage[] };
type Explained = {
  queryPlanner: { winningPlan: Stage & { queryPlan?: Stage } };
  executionStats: { totalKeysExamined: number; totalDocsExamined: number };
};

/** How the database has answered one query. */
export type QueryPlan = {
  /** The names of its stages, such as 'LIMIT FETCH IXSCAN', from the last one to the first. */
  stages: string;
  indexes: string[];
  keys: number;
  documents: number;
};

/** The URI of a database whose client tells what it sends, as explainQueries needs it. */
export function monitored(uri: string): string {
  return `${uri}${uri.includes('?') ? '&' : '?'}monitorCommands=true`;
}

/**
 * The plans of all queries that `run` makes on the connection (its URI is `monitored`), in their order: of what is
 * really sent, so that a test does not explain a query that nobody makes. Nothing else may use the connection.
 */
export async function explainQueries(
  connection: Database['connection'],
  run: () => Promise<unknown>,
): Promise<QueryPlan[]> {
  const sent: Record<string, unknown>[] = [];
  const note = ({ command }: { command: Record<string, unknown> }) => {
    if ('find' in command || 'aggregate' in command) sent.push(command);
  };
  const client = connection.getClient();
  client.on('commandStarted', note);
  await run().finally(() => client.off('commandStarted', note));
  const plans: QueryPlan[] = [];
  for (const { lsid: _, $db: _db, ...command } of sent) {
    const answer = await connection.db?.command({ explain: command, verbosity: 'executionStats' });
    const { queryPlanner, executionStats } = (answer?.stages?.[0]?.$cursor ?? answer) as Explained;
    const stages: Stage[] = [];
    const visit = (stage: Stage) => {
      stages.push(stage);
      for (const input of [stage.inputStage, ...(stage.inputStages ?? [])]) if (input) visit(input);
    };
    visit(queryPlanner.winningPlan.queryPlan ?? queryPlanner.winningPlan);
    plans.push({
      stages: stages.map(({ stage }) => stage).join(' '),
      indexes: stages.flatMap(({ indexName }) => indexName ?? []),
      keys: executionStats.totalKeysExamined,
      documents: executionStats.totalDocsExamined,
    });
  }
  return plans;
}
