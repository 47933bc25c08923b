/** The field of the grant of a device: the session in which it was connected, as its payload was then. */
export const CONNECTED_IN = 'connectedIn';

/** Makes a model of oidc-provider's store further properties: it keeps only those that it lists. */
export function storeFields(model: unknown, names: readonly string[]): void {
  const own = (model as { IN_PAYLOAD: string[] }).IN_PAYLOAD;
  Object.defineProperty(model, 'IN_PAYLOAD', { value: [...own, ...names] });
}
