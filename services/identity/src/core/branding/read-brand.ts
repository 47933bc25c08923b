import type { Brand } from '@gatehouse/web/brand';
import {
  APPEARANCE_FIELDS,
  type Appearance,
  appearanceProblems,
  brandStylesheet,
  linksOf,
  pictureOf,
} from '../applications/appearance.ts';

/** The brand of a deployment from its setting, a value in JSON. Throws an error that says what is wrong with it. */
export function readBrand(value: unknown): Brand {
  const fields = Object(value) as Record<string, unknown>;
  const names = ['name', ...Object.keys(APPEARANCE_FIELDS)];
  const unknown = Object.keys(fields).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`must have no field but ${names.join(', ')}`);
  const wrong = names.find((name) => fields[name] !== undefined && typeof fields[name] !== 'string');
  if (wrong !== undefined || Array.isArray(value)) throw new Error(`must have texts for ${names.join(', ')}`);
  const name = String(fields.name ?? 'Gatehouse').trim();
  if (name === '' || [...name].length > 40) throw new Error('must have a name of 1 to 40 characters');
  const appearance: Appearance = Object.fromEntries(
    Object.entries(APPEARANCE_FIELDS).map(([field, own]) => [own, fields[field]]),
  );
  const [problem] = appearanceProblems(appearance);
  if (problem !== undefined) throw new Error(`has a ${problem.field} that ${problem.message}`);
  const { primaryColor, logoUri } = appearance;
  return {
    name,
    logo: pictureOf({ logoUri }),
    primaryColor,
    stylesheets: primaryColor === undefined ? [] : [brandStylesheet(primaryColor)],
    links: linksOf(appearance),
  };
}
