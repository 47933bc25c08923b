/** Whether a client_id is the URL of a document in which the client describes itself, and not the id of a registered application. */
export function isMetadataDocumentId(clientId: string): boolean {
  return /^https?:\/\//.test(clientId);
}
