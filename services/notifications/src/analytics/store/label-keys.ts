/** The name of the field for a set of labels, which is part of the paths of updates and so has no dot and no dollar. */
export function keyOfLabels(labels: Readonly<Record<string, string>>): string {
  return new URLSearchParams(labels).toString().replaceAll('.', '%2E');
}

/** The labels of a field. */
export function labelsOfKey(key: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(key));
}
