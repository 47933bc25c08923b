import { described, optional, url } from '@gatehouse/core/config';

export const wellKnownSettings = {
  securityContact: described(
    'Where people report vulnerabilities, which `/.well-known/security.txt` (RFC 9116) names.',
    {
      ...optional(url('IDENTITY_SECURITY_CONTACT', ['mailto:', 'https:']), 'there is no security.txt'),
      isSecret: false,
    },
    'mailto:security@example.com',
  ),
};
