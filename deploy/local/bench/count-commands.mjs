// Loaded into the services by `npm run bench:rest`: counts what they send to MongoDB, by database, collection and command,
// and writes the counts to $COUNTS/PID.json for each SIGUSR2.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const data = createRequire(new URL('../../../packages/data/package.json', import.meta.url));
const { MongoClient } = data('mongoose').mongo;
const counts = {};
const { connect } = MongoClient.prototype;

MongoClient.prototype.connect = function connectCounted() {
  this.options.monitorCommands = true;
  this.on('commandStarted', ({ databaseName, commandName, command }) => {
    const key = `${commandName} ${databaseName}.${command[commandName]} (${this.options.appName})`;
    counts[key] = (counts[key] ?? 0) + 1;
  });
  return connect.call(this);
};
process.on('SIGUSR2', () =>
  writeFileSync(`${process.env.COUNTS}/${process.pid}.json`, JSON.stringify(counts)),
);
