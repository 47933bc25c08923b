import type { FieldProblem } from '@gatehouse/core/errors';
import { linkProblem } from '@gatehouse/core/web-uris';
import type { Brand } from './brand.ts';

/** How an application, or the deployment, looks on pages, and where its links lead (OpenID Connect Registration §2). */
export type Appearance = {
  /** #rrggbb */
  primaryColor?: string | undefined;
  /** A PNG picture as a `data:` URL. */
  logoUri?: string | undefined;
  clientUri?: string | undefined;
  policyUri?: string | undefined;
  tosUri?: string | undefined;
  supportUri?: string | undefined;
};

/** The names of its fields in the API and in the setting. */
export const APPEARANCE_FIELDS = {
  primary_color: 'primaryColor',
  logo_uri: 'logoUri',
  client_uri: 'clientUri',
  policy_uri: 'policyUri',
  tos_uri: 'tosUri',
  support_uri: 'supportUri',
} as const satisfies Record<string, keyof Appearance>;

const LINKS = ['client_uri', 'policy_uri', 'tos_uri', 'support_uri'] as const;
const LINK_TEXTS = {
  client_uri: 'Home page',
  policy_uri: 'Privacy policy',
  tos_uri: 'Terms of service',
  support_uri: 'Support',
} as const;

/** An sRGB colour as #rrggbb. */
export const COLOUR = /^#[\da-f]{6}$/;

/** The size of a logo: it is part of every page. */
const MAX_LOGO_BYTES = 16 * 1024;
const MAX_LOGO_PIXELS = 512;
export const PNG = 'data:image/png;base64,';
/** PNG (W3C, third edition) §5.2, and §11.2.1: the length and the name of the first chunk. */
const PNG_BEGIN = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const PNG_END = Buffer.from('0000000049454e44ae426082', 'hex');

/** The problems of an appearance, as ends of sentences. */
export function appearanceProblems(appearance: Appearance): FieldProblem[] {
  const problems = {
    primary_color:
      appearance.primaryColor !== undefined && !COLOUR.test(appearance.primaryColor)
        ? 'must be #rrggbb, in small letters, such as #0b5a4f'
        : undefined,
    logo_uri: appearance.logoUri === undefined ? undefined : logoProblem(appearance.logoUri),
    ...Object.fromEntries(
      LINKS.map((name) => {
        const uri = appearance[APPEARANCE_FIELDS[name]];
        return [name, uri && linkProblem(uri)];
      }),
    ),
  };
  return Object.entries(problems).flatMap(([field, message]) => (message ? [{ field, message }] : []));
}

/** The home page that a client names, unless it could not be linked: a registration leaves it out (RFC 7591 §3.2.1). */
export const homePageOf = ({ client_uri: uri }: { client_uri?: string | undefined }) =>
  uri !== undefined && linkProblem(uri) === undefined ? uri : undefined;

function logoProblem(uri: string): string | undefined {
  const text = uri.slice(PNG.length);
  const picture = Buffer.from(text, 'base64');
  if (!uri.startsWith(PNG) || picture.toString('base64') !== text)
    return `must be ${PNG} and a PNG picture in base64`;
  if (picture.length > MAX_LOGO_BYTES) return `must have at most ${MAX_LOGO_BYTES / 1024} KiB`;
  const isWhole =
    picture.length > 33 &&
    picture.subarray(0, PNG_BEGIN.length).equals(PNG_BEGIN) &&
    picture.subarray(-PNG_END.length).equals(PNG_END);
  if (!isWhole) return 'is not a PNG picture';
  const sizes = [picture.readUInt32BE(16), picture.readUInt32BE(20)];
  const isSmall = sizes.every((size) => size > 0 && size <= MAX_LOGO_PIXELS);
  return isSmall ? undefined : `must have at most ${MAX_LOGO_PIXELS} × ${MAX_LOGO_PIXELS} pixels`;
}

/** The picture of its logo, in base64. */
export const pictureOf = ({ logoUri }: Appearance) => logoUri?.slice(PNG.length);

/** Its links, by their texts in English. */
export function linksOf(appearance: Appearance) {
  return LINKS.flatMap((name) => {
    const url = appearance[APPEARANCE_FIELDS[name]];
    return url === undefined ? [] : [{ text: LINK_TEXTS[name], url }];
  });
}

/** The path of the stylesheet that gives the pages of a deployment their colour. */
export const brandStylesheet = (colour: string) => `/account/brand/${colour.slice(1)}.css`;
/** That of an application, which changes the accent alone. */
export const accentStylesheet = (colour: string) => `/account/accent/${colour.slice(1)}.css`;

/** The brand of a deployment as its setting has it. */
export type BrandFields = { name?: string } & { [K in keyof typeof APPEARANCE_FIELDS]?: string };

/** The problems of its fields, as ends of sentences. */
export function brandProblems({ name, ...fields }: BrandFields): FieldProblem[] {
  const length = [...(name ?? 'Gatehouse').trim()].length;
  const named =
    length > 0 && length <= 40 ? [] : [{ field: 'name', message: 'must have 1 to 40 characters' }];
  return [...named, ...appearanceProblems(appearanceOf(fields))];
}

const appearanceOf = (fields: BrandFields): Appearance =>
  Object.fromEntries(
    Object.entries(APPEARANCE_FIELDS).map(([field, own]) => [own, fields[field as keyof BrandFields]]),
  );

/** Reads the setting, a value in JSON. Throws an error that says what is wrong with it. */
export function readBrandFields(value: unknown): BrandFields {
  const fields = Object(value) as Record<string, unknown>;
  const names = ['name', ...Object.keys(APPEARANCE_FIELDS)];
  const unknown = Object.keys(fields).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`must have no field but ${names.join(', ')}`);
  const wrong = names.find((name) => fields[name] !== undefined && typeof fields[name] !== 'string');
  if (wrong !== undefined || Array.isArray(value)) throw new Error(`must have texts for ${names.join(', ')}`);
  const [problem] = brandProblems(fields);
  if (problem !== undefined) throw new Error(`has a ${problem.field} that ${problem.message}`);
  return fields;
}

/** The brand of pages and mails from its fields. */
export function brandOf(fields: BrandFields): Brand {
  const appearance = appearanceOf(fields);
  const { primaryColor } = appearance;
  return {
    name: (fields.name ?? 'Gatehouse').trim(),
    logo: pictureOf(appearance),
    primaryColor,
    stylesheets: primaryColor === undefined ? [] : [brandStylesheet(primaryColor)],
    links: linksOf(appearance),
  };
}
