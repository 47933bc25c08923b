import type { Database } from '@gatehouse/data/database';

type Stage = { stage: string; indexName?: string; inputStage?: Stage; inputStages?: Stage[] };
type Explained = {
  queryPlanner: { winningPlan: Stage & { queryPlan?: Stage } };
  executionStats: { totalKeysExamined: number; totalDocsExamined: number };
};

/** How the database answered one query. */
export type QueryPlan = {
  /** The names of its stages, such as 'LIMIT FETCH IXSCAN', from the last one to the first. */
  stages: string;
  indexes: string[];
  keys: number;
  documents: number;
};

/** Turns on command monitoring in the URI of a database, which explainQueries needs. */
export function monitored(uri: string): string {
  return `${uri}${uri.includes('?') ? '&' : '?'}monitorCommands=true`;
}

/**
 * The plans of all queries that `run` sends over the connection (its URI is `monitored`), in order. It explains what is
 * really sent, not a copy of it in a test. Nothing else may use the connection meanwhile.
 */
export async function explainQueries(
  connection: Database['connection'],
  run: () => Promise<unknown>,
): Promise<QueryPlan[]> {
  const sent: Record<string, unknown>[] = [];
  const record = ({ command }: { command: Record<string, unknown> }) => {
    if ('find' in command || 'aggregate' in command) sent.push(command);
  };
  const client = connection.getClient();
  client.on('commandStarted', record);
  await run().finally(() => client.off('commandStarted', record));
  const plans: QueryPlan[] = [];
  for (const { lsid: _, $db: _db, ...command } of sent) {
    const response = await connection.db?.command({ explain: command, verbosity: 'executionStats' });
    const { queryPlanner, executionStats } = (response?.stages?.[0]?.$cursor ?? response) as Explained;
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
