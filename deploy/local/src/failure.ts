/** Why npm start cannot start, as a sentence for the person who typed it. */
export class StartFailure extends Error {
  override name = 'StartFailure';
}
