import type { FieldProblem } from '@gatehouse/core/errors';

/** The names come from the caller, and go into the response. */
const MAX_NAME_LENGTH = 60;

/** The parameters of one query, and the problems found in them. */
export type QueryParameters = {
  names: readonly string[];
  has(name: string): boolean;
  /** The parameter's value; undefined if it is absent, or repeated, which is a problem. */
  text(name: string): string | undefined;
  /** The parameter as a whole number; undefined if it is absent, or not such a number, which is a problem. */
  integer(name: string, min: number, max: number, hint?: string): number | undefined;
  addProblem(name: string, message: string): void;
  problems: readonly FieldProblem[];
};

/** Wraps a parsed query: strings by name, and an array of strings for a repeated parameter. */
export function queryParameters(query: unknown): QueryParameters {
  const values = new Map(Object.entries(Object(query)));
  const problems: FieldProblem[] = [];
  function addProblem(name: string, message: string): void {
    const field = name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name;
    problems.push({ field, message });
  }
  function text(name: string): string | undefined {
    const value = values.get(name);
    if (value === undefined || typeof value === 'string') return value;
    addProblem(name, 'must be given once');
    return undefined;
  }
  return {
    names: [...values.keys()],
    has: (name) => values.has(name),
    text,
    addProblem,
    problems,
    integer(name, min, max, hint) {
      const digits = text(name);
      if (digits === undefined) return undefined;
      const number = Number(digits);
      if (!/^-?\d+$/.test(digits)) addProblem(name, 'must be a whole number');
      else if (number < min) addProblem(name, `must be at least ${min}`);
      else if (number > max)
        addProblem(name, `must be at most ${max}${hint === undefined ? '' : `; ${hint}`}`);
      else return number;
      return undefined;
    },
  };
}
