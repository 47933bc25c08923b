/** A failure, with a sentence that says what to do. The command ends with 1. */
export class CliError extends Error {}

/** A mistake in the command line. The command ends with 2, and has written nothing to stdout. */
export class UsageError extends Error {}
