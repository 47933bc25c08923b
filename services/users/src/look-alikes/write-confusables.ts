import { readFileSync, writeFileSync } from 'node:fs';
import { foldedKey } from '@gatehouse/domain/folded-key';

/**
 * Writes confusables.json from Unicode's confusables.txt, whose path is the argument: the letters, marks and digits of folded names
 * that look like others, by what they look like, folded as well. ASCII characters stand for themselves here: see look-alikes.ts.
 */
const lines = readFileSync(process.argv[2] ?? 'confusables.txt', 'utf8').split('\n');
const charactersOf = (codes: string) =>
  String.fromCodePoint(...codes.split(' ').map((code) => Number.parseInt(code, 16)));
const prototypes = new Map<string, string>();
for (const line of lines) {
  const [from, to] = /^([\dA-F]+) ;\t([\dA-F ]+) ;\tMA/.exec(line)?.slice(1).map(charactersOf) ?? [];
  if (from === undefined || to === undefined) continue;
  const occurs = /^[\p{L}\p{M}\p{N}]$/u.test(from) && !/\p{ASCII}/u.test(from);
  if (occurs && foldedKey(from).normalize('NFD') === from) prototypes.set(from, to);
}

/** The prototype of a prototype, as folding one may make another character of it. */
function finalOf(text: string): string {
  const folded = foldedKey(text).normalize('NFD');
  const next = Array.from(folded, (it) => prototypes.get(it) ?? it).join('');
  return next === text ? text.replaceAll('rn', 'm') : finalOf(next);
}

const byPrototype: Record<string, string> = {};
for (const [from, to] of prototypes) {
  const final = finalOf(to);
  if (final !== from) byPrototype[final] = (byPrototype[final] ?? '') + from;
}
const version = lines.find((line) => line.includes('Version:'))?.replace('# ', '');
const copyright = lines.find((line) => line.includes('©'))?.replace('# ', '');
const file = new URL('confusables.json', import.meta.url);
writeFileSync(file, `${JSON.stringify({ version, copyright, byPrototype }, undefined, 2)}\n`);
