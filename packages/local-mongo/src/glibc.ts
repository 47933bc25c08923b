/** The version of the GNU C library in use, e.g. '2.36'; undefined with another one (musl, macOS, Windows). */
export function glibcVersion(): string | undefined {
  const { report } = process;
  // Else it would look up the host name of every open connection.
  Object.assign(report, { excludeNetwork: true });
  const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime;
}

/** Whether a version such as '2.36' is at least another. */
export function isAtLeast(version: string, wanted: string): boolean {
  return version.localeCompare(wanted, 'en', { numeric: true }) >= 0;
}
