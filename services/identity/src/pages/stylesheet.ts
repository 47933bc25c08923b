import { createAsset } from '@gatehouse/web/asset';
import { createStylesheet } from '@gatehouse/web/stylesheet';

export const stylesheet = createStylesheet('/account', new URL('style.css', import.meta.url));
/** Of pages on which people type a password. */
export const passwordScript = createAsset('/account', 'show-password.js', [
  new URL('show-password.js', import.meta.url),
]);
