import type { FieldProblem } from '@gatehouse/kit/errors';

/** Of a parameter's name, which the caller chooses, in an answer. */
const MAX_NAME = 60;

/** The parameters of one query, and what is found to be wrong with them. */
export type Parameters = {
  names: readonly string[];
  has(name: string): boolean;
  /** A parameter's text; undefined when it is absent or, which is a problem, repeated. */
  text(name: string): string | undefined;
  /** A whole number; undefined when the parameter is absent or a problem. */
  integer(name: string, min: number, max: number, hint?: string): number | undefined;
  problem(name: string, message: string): void;
  problems: readonly FieldProblem[];
};

/** Reads what the query parser gives: texts by name, and a list of texts for what is repeated. */
export function parametersOf(query: unknown): Parameters {
  const given = new Map(Object.entries(Object(query)));
  const problems: FieldProblem[] = [];
  function problem(name: string, message: string): void {
    problems.push({ field: name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name, message });
  }
  function text(name: string): string | undefined {
    const value = given.get(name);
    if (value === undefined || typeof value === 'string') return value;
    problem(name, 'must be given once');
    return undefined;
  }
  return {
    names: [...given.keys()],
    has: (name) => given.has(name),
    text,
    problem,
    problems,
    integer(name, min, max, hint) {
      const digits = text(name);
      if (digits === undefined) return undefined;
      const number = Number(digits);
      if (!/^-?\d+$/.test(digits)) problem(name, 'must be a whole number');
      else if (number < min) problem(name, `must be at least ${min}`);
      else if (number > max) problem(name, `must be at most ${max}${hint === undefined ? '' : `; ${hint}`}`);
      else return number;
      return undefined;
    },
  };
}
