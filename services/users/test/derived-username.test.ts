import t from 'tap';
import { derivedUsername } from '../src/derived-username.ts';
import type { NewUser } from '../src/user.ts';
import { fieldProblems } from '../src/user-fields.ts';

t.test('a username is derived from the email or the name', async (t) => {
  const cases: [NewUser, RegExp][] = [
    [{ email: 'Ann.Other+News@example.org', name: 'Somebody' }, /^ann\.other\+news$/],
    [{ name: 'Ann Marie  O’Neil' }, /^ann\.marie\.o\.neil$/],
    [{ firstName: 'Bo', lastName: 'Ek' }, /^bo\.ek$/],
    [{ name: 'Straße 5' }, /^strasse\.5$/],
    [{ name: '李小龍' }, /^李小龍$/],
    [{ name: '李' }, /^李-[0-9a-z]{5}$/],
    [{ name: '😀' }, /^user$/],
    [{ name: '!!!' }, /^user$/],
    [{ email: '{}@example.org' }, /^user$/],
    [{ name: '..a..' }, /^a-[0-9a-z]{5}$/],
    [{ name: `${'x'.repeat(63)} y` }, /^x{63}$/],
    [{ name: '\u0301abc' }, /^abc$/],
    [{ name: 'x\u200dy\u3164z' }, /^xyz$/],
    [{ name: 'Иван Гроз' }, /^иван\.гроз$/],
    [{ name: 'Ив' }, /^ив-\d{5}$/],
    [{ name: 'Иван Smith' }, /^user$/],
    [{ name: '\u{1d51e}\u{1d51f}'.repeat(60) }, /^(?:ab){32}$/],
    [{ name: 'ﷺ'.repeat(200) }, /^.{3,64}$/u],
    [{ name: '\u{20000}'.repeat(100) }, /^\u{20000}{64}$/u],
    [{ name: '\u{10428}'.repeat(100) }, /^user$/],
    [{ name: '$ne' }, /^ne-[0-9a-z]{5}$/],
  ];
  for (const [draft, expected] of cases) {
    const label = JSON.stringify(draft).slice(0, 60);
    const usernames = [0, 1, 2, 3].map((attempt) => derivedUsername(draft, attempt));
    t.match(usernames[0], expected, label);
    t.equal(new Set(usernames.slice(1)).size, 3, `${label}: others`);
    for (const username of usernames) t.same(fieldProblems({ username }), [], `${label}: ${username}`);
  }
  t.match(derivedUsername({ name: 'Ann Marie O’NEIL' }, 1), /^ann\.marie\.o\.neil-[0-9a-z]{5}$/);
  t.match(derivedUsername({ name: `${'x'.repeat(63)} z` }, 1), /^x{58}-[0-9a-z]{5}$/);
});
