import { createStylesheet } from '@gatehouse/ui/stylesheet';

export const stylesheet = createStylesheet('/account', new URL('style.css', import.meta.url));
