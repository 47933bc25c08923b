// Run once by the MongoDB image, while the volume is empty: makes the users that the services' URIs name,
// each with access to its own database only. A failure here would leave a database without users, which the
// image takes for a finished one at the next start: what it cannot make a user of is passed over.
for (const uri of [process.env.IDENTITY_MONGODB_URI, process.env.USERS_MONGODB_URI]) {
  if (!URL.canParse(uri)) continue;
  const { hostname, username, password, pathname } = new URL(uri);
  const database = pathname.slice(1);
  if (hostname !== 'mongo' || username === '' || password === '' || database === '') continue;
  db.getSiblingDB(database).createUser({
    user: decodeURIComponent(username),
    pwd: decodeURIComponent(password),
    roles: [{ role: 'readWrite', db: database }],
  });
}
