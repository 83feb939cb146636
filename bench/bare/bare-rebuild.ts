import { Connection } from '../../server/src/store/sqlite/connection.ts';
import { serveHelper } from '../support/servers.ts';

/** The lower bound for a purge: the file is rebuilt and its log is emptied, with the settings of the service. */

const [path = ''] = process.argv.slice(2);
const { db } = new Connection(path, 1_000);

serveHelper(() => {
  const start = performance.now();
  db.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
  return { millis: performance.now() - start };
});
