import { createStylesheet } from '@gatehouse/web/stylesheet';

export const stylesheet = createStylesheet('/account', new URL('style.css', import.meta.url));
