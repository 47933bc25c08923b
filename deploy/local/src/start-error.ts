/** Why npm start cannot start, as a sentence for the terminal. */
export class StartError extends Error {
  override name = 'StartError';
}
