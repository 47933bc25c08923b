// Run by the MongoDB image while the volume is empty, and by hand for a service that a later version adds: makes the
// users that the services' URIs (*_MONGODB_URI) name, each with access to its own database only. A failure here would
// leave a database without users, which the image takes for a finished one at the next start: what it cannot make a
// user of is passed over.
for (const [name, uri] of Object.entries(process.env)) {
  if (!name.endsWith('_MONGODB_URI') || !URL.canParse(uri)) continue;
  const { hostname, username, password, pathname } = new URL(uri);
  const database = pathname.slice(1);
  if (hostname !== 'mongo' || username === '' || password === '' || database === '') continue;
  const user = decodeURIComponent(username);
  const own = db.getSiblingDB(database);
  if (own.getUser(user) !== null) continue;
  own.createUser({
    user,
    pwd: decodeURIComponent(password),
    roles: [{ role: 'readWrite', db: database }],
  });
}
