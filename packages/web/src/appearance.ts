import { AsyncLocalStorage } from 'node:async_hooks';

/** How somebody wants to see pages; by default, as their system and browser do. */
export type Appearance = {
  theme?: Theme;
  timeZone?: string;
  /** The zone of the browser, where the dashboard has learned it. */
  browserZone?: string;
};
export const THEMES = ['light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

/** Zones that ICU still calls by their former names. */
const RENAMED: Readonly<Record<string, string>> = {
  'America/Buenos_Aires': 'America/Argentina/Buenos_Aires',
  'America/Godthab': 'America/Nuuk',
  'Asia/Calcutta': 'Asia/Kolkata',
  'Asia/Katmandu': 'Asia/Kathmandu',
  'Asia/Rangoon': 'Asia/Yangon',
  'Asia/Saigon': 'Asia/Ho_Chi_Minh',
  'Atlantic/Faeroe': 'Atlantic/Faroe',
  'Europe/Kiev': 'Europe/Kyiv',
};

/** The time zones that can be chosen, of the IANA database. */
export const TIME_ZONES: readonly string[] = [
  ...new Set(['UTC', ...Intl.supportedValuesOf('timeZone').map((name) => RENAMED[name] ?? name)]),
].sort();

const COOKIES = {
  theme: 'gatehouse_theme',
  timeZone: 'gatehouse_time_zone',
  /** A script of the dashboard sets it. */
  browserZone: 'gatehouse_browser_zone',
} as const;
const zones = new Set(TIME_ZONES);
const current = new AsyncLocalStorage<Appearance>();

/** Runs this, and what follows from it, with an appearance. */
export function inAppearance<T>(chosen: Appearance, run: () => T): T {
  return current.run(chosen, run);
}

/** The appearance of what runs. */
export const appearance = (): Appearance => current.getStore() ?? {};

/** The zone of the times on a page: the chosen one, else that of the browser, if it is known. */
export const timeZone = (): string => appearance().timeZone ?? appearance().browserZone ?? 'UTC';

/** The appearance in the Cookie header of a request; an unknown choice counts as none. */
export function readAppearance(cookies: string | undefined): Appearance {
  const cookie = (name: string) => new RegExp(`(?:^|; )${name}=([^;]*)`).exec(cookies ?? '')?.[1];
  const theme = THEMES.find((it) => it === cookie(COOKIES.theme));
  const zoneIn = (name: string) => {
    const zone = cookie(name) ?? '';
    const known = RENAMED[zone] ?? zone;
    return zones.has(known) ? known : undefined;
  };
  const [timeZone, browserZone] = [zoneIn(COOKIES.timeZone), zoneIn(COOKIES.browserZone)];
  return { ...(theme && { theme }), ...(timeZone && { timeZone }), ...(browserZone && { browserZone }) };
}

/** The cookies that keep an appearance for a year, for all pages of the origin; cookies of choices that were not made are removed. */
export function appearanceCookies({ theme, timeZone }: Appearance, isSecure: boolean): string[] {
  const cookie = (name: string, value: string | undefined) =>
    `${name}=${value ?? ''}; Path=/; Max-Age=${value === undefined ? 0 : 31_536_000}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  return [cookie(COOKIES.theme, theme), cookie(COOKIES.timeZone, timeZone)];
}
