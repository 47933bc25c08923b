/** The version of the GNU C library in use, e.g. '2.36'; undefined with another C library (musl, macOS, Windows). */
export function glibcVersion(): string | undefined {
  const { report } = process;
  // Otherwise the report looks up the host name of every open connection.
  Object.assign(report, { excludeNetwork: true });
  const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime;
}

/** Whether a version such as '2.36' is at least the wanted one. */
export function isAtLeast(version: string, wanted: string): boolean {
  return version.localeCompare(wanted, 'en', { numeric: true }) >= 0;
}
