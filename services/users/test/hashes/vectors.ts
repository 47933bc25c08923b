/** Hashes of which `password` is the password, as their programs write them, and where they come from. */
export type Vector = { from: string; password: string; hash: string };

const OURS = 'pässword Nr 7';

/** Made with the programs named, of the same password. */
const MADE: Readonly<Record<string, string>> = {
  'bcrypt 5.0 (Python), 2b': '$2b$05$DIKf8jNv.Qr3iM3YJdpH1.Wfk0.sIZ4HN56P0hwWzSDQKPp6TiosS',
  'bcrypt 5.0 (Python), 2a': '$2a$04$LpN5vjdMQt9PKScs/zZlMu.ttY8V2LjaUMoOa121xfi1IuaoRT/i2',
  'libxcrypt 4.4, 2y': '$2y$04$abcdefghijklmnopqrstuuKVUHa4WO.IMaCWz3e7IzInqs.jef.eG',
  'argon2-cffi 25.1, argon2id':
    '$argon2id$v=19$m=1024,t=2,p=2$c29tZXNhbHQxMjM0NTY3OA$N3U5rdH+GmZKAbcfIebOibf0eJxdaFXg0c5OZmCyNo0',
  'argon2-cffi 25.1, argon2i':
    '$argon2i$v=19$m=512,t=3,p=1$c29tZXNhbHQxMjM0NTY3OA$3kd5iimwW5i/6bTnDyJklDmWc2wGPSnV',
  'argon2-cffi 25.1, argon2i of version 1.0':
    '$argon2i$v=16$m=256,t=2,p=1$c29tZXNhbHQ$uVSo86HaN9m9D5iHjzGeM04G3jMfWZWWEc+NhykN20A',
  'Passlib 1.7.4, PBKDF2-SHA1': '$pbkdf2$1000$.V9rDUGo1bpXijHmvLd2rg$/av0jva2qZrZ.kHD9k68Gsgacl4',
  'Passlib 1.7.4, PBKDF2-SHA256':
    '$pbkdf2-sha256$1200$h/AeI0QoBaC01to7RwjB2A$bnNA4DRd8gU68zxpEYGEAn0Y.oAObc9KvwjvSJI7ujI',
  'Passlib 1.7.4, PBKDF2-SHA512':
    '$pbkdf2-sha512$1000$1HqPcY6x9v4fYwyhNOZ87w$eAZoQABNfae0veyQa839I5wG7IquCUUMYZ/POzkR91HnMUWyGVhQYr33/UPlt4p4Yq1b9z/qms.vA1RCQ2Xk8A',
  'Passlib 1.7.4, scrypt':
    '$scrypt$ln=8,r=8,p=2$r1XKmVOKsVbKuVcK4XxvbQ$2q1qMGZ4WFiY6kBFmH9B2EDRWwIv4AJCSo5efI7Zn88',
  'Passlib 1.7.4, phpass': '$P$67jaFhhYGqsVbM2zyrq4ALnHY2qjDU0',
  'Passlib 1.7.4, phpass of phpBB': '$H$7LVz2ZAoXBL.sTySG0E5CfB0nwqqNl.',
  'Passlib 1.7.4, SSHA': '{SSHA}TGKsrHe8F6t6o8QlPKxeRv3hjfEgJGSs',
  'Passlib 1.7.4, SSHA256': '{SSHA256}E3mgf15gKAbytU67SxXqeC+tfNc0EDwEe3hkI/kEDV5tzTnnHKN0Lg==',
  'Passlib 1.7.4, SSHA512':
    '{SSHA512}2zXocjib1aXRLHhr6r2jZw4Om41NANXIKg7it+Lf13btqx3LOOJfNkBaQ/deVMLF6/WHQucEy7aE8VjQ6uZqyDuHUEoJYaw1',
  'Werkzeug 3.1, PBKDF2-SHA256':
    'pbkdf2:sha256:1500$TmvxOHHJgnjg4fPh$bc7ff00e623570b0b30bc5e9debf7480230388d73d0d3510569981b17eca914b',
  'Werkzeug 3.1, PBKDF2-SHA512':
    'pbkdf2:sha512:1100$jCxPI3jGQ4joJKgl$fcdbe84b76124fc62fb3e11a78d56db503eb4bb14d6bc114a3f0f5b744f1083b858a09e63e1aab070df4b2ab211129d67fad87f9b28209dd137d57b2c26115d1',
  'Werkzeug 3.1, scrypt':
    'scrypt:1024:8:1$NVQpN0oiMy8pUFen$ba640c6af1bfd118ce29702a02f559700b257032ffc2d428e22b8c9d51b030f40fd52f680dc7c4bbb09879135c8c785d6351fd5b695685a895a15deb1e8ba5e9',
  'Django 5.2, PBKDF2-SHA256': 'pbkdf2_sha256$1300$saltysalt$gphca75hnz7ujmzrEeRPGRJ2zKhLXNkLE4i3jJGkd7I=',
  'Django 5.2, PBKDF2-SHA1': 'pbkdf2_sha1$1300$saltysalt$9yPuJirza7KBa4qnCjSicuDpRI8=',
  'Django 5.2, argon2id':
    'argon2$argon2id$v=19$m=1024,t=2,p=1$c2FsdHlzYWx0$fIYLqIXvNznV6sKfSImDaCmF1MrNVH0ZPIibHbgkiKs',
  'Django 5.2, scrypt':
    'scrypt$1024$saltysalt$8$5$FMihQU5AB4cVUREOM+NvTXsvzrY8AZvEjOFd6gypEvhktbnBN3VZPBxPWjK8CZSR/dZpSy6R+Rv9UC+bPxUWsw==',
  'hashlib (Python), as ASP.NET Core Identity 3 with SHA-512 lays it out':
    'AQAAAAIAAAPoAAAAEAABAgMEBQYHCAkKCwwNDg/zXKv6pt+Jd7FjTtstPWekGFafl0OuiSUwo6KohQURtA==',
};

/** Published with their password. */
const PUBLISHED: readonly Vector[] = [
  ...[
    'AAABAgMEBQYHCAkKCwwNDg+ukCEMDf0yyQ29NYubggHIVY0sdEUfdyeM+E1LtH1uJg==',
    'AQAAAAAAAAD6AAAAEAhftMyfTJylOlZT+eEotFXd1elee8ih5WsjXaR3PA9M',
    'AQAAAAEAA9CQAAAAIESkQuj2Du8Y+kbc5lcN/W/3NiAZFEm11P27nrSN5/tId+bR1SwV8CO1Jd72r4C08OLvplNlCDc3oQZ8efcW+jQ=',
  ].map((hash) => ({ from: 'PasswordHasherTest.cs of ASP.NET Core', password: 'my password', hash })),
  {
    from: 'John the Ripper and crypt_blowfish',
    password: 'U*U',
    hash: '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW',
  },
  {
    from: 'the test of phpass 0.3',
    password: 'test12345',
    hash: '$P$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0',
  },
  {
    from: 'RFC 7914 §12, cut to 32 bytes of 64',
    password: 'pleaseletmein',
    hash: '$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofI',
  },
];

export const VECTORS: readonly Vector[] = [
  ...Object.entries(MADE).map(([from, hash]) => ({ from, password: OURS, hash })),
  ...PUBLISHED,
];
