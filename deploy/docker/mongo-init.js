// Run by the MongoDB image while the volume is empty, and by hand for a service that a later version adds: makes the
// users that the URIs (*_MONGODB_URI) name: those of services have access to their own databases only, and that of the
// exporter to statistics only. A failure here would
// leave a database without users, which the image takes for a finished one at the next start: what it cannot make a
// user of is passed over.
const ROLES = { MONITORING_MONGODB_URI: 'clusterMonitor' };

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
    roles: [{ role: ROLES[name] ?? 'readWrite', db: database }],
  });
}
