/** What keeps npm start from starting, as a sentence for the person who typed it. */
export class StartFailure extends Error {
  override name = 'StartFailure';
}
