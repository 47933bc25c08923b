import type { Link } from '@gatehouse/kit/pages';

/** Where to go on from an address that is unknown. */
export const LINKS: readonly Link[] = [
  { rel: 'home', href: '/', title: 'What Gatehouse is' },
  { rel: 'related', href: '/dashboard', title: 'Developer dashboard' },
  { rel: 'related', href: '/account', title: 'Your account' },
];
