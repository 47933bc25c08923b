/** The section of a version in a changelog (Keep a Changelog 1.1.0), without its heading; undefined when there is none with a date. */
export function releaseNotes(changelog: string, version: string): string | undefined {
  const found = changelog.split(/^## /m).find((section) => section.startsWith(`[${version}] - 2`));
  return found?.slice(found.indexOf('\n')).trim();
}
