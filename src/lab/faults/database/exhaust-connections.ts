/**
 * Other clients have all connections of the database: the service has lost those that it had, and
 * is refused a new one (1040, "Too many connections"). The database itself is well.
 */
import mysql, { type Connection } from 'mysql2/promise';
import {
  allowConnections,
  asDatabaseRoot,
  connectAsRoot,
  killSession,
  loggingIn,
  rootUser,
  sessionsOf,
} from '../../environment/database-root.ts';
import { mostConnections } from '../../environment/servers/database.ts';
import { waitUntil } from '../../environment/wait-until.ts';
import type { WatchedFault } from '../fault.ts';

/** The least that MariaDB accepts. One more is left for another rootUser. */
const fewest = 10;
const tooManyConnections = 1040;

export const exhaustConnections = (database: string): WatchedFault => ({
  name: `use up the connections of ${database}`,
  watch: (lab) => async () => {
    const connection = await connect(new URL(lab.environment['MYSQL_URL'] ?? ''));
    connection?.destroy();
    return connection === null;
  },
  async inject(lab) {
    const url = new URL(lab.environment['MYSQL_URL'] ?? '');
    const data = lab.dataFolder(database);
    const root = await connectAsRoot(data); // It counts, too.
    root.on('error', () => {}); // The database may be stopped meanwhile.
    const taken = [root];
    const undo = async () => {
      const allow = (by: Connection) => allowConnections(by, mostConnections);
      // Where the database was stopped meanwhile, this connection of root is lost.
      try {
        await allow(root).catch(() => asDatabaseRoot(data, allow));
      } finally {
        for (const connection of taken) connection.destroy();
      }
    };
    try {
      await allowConnections(root, fewest);
      const areUsedUp = () => takeNext(root, url, taken);
      await waitUntil('the last connection of the database', 10_000, areUsedUp);
    } catch (error) {
      await undo();
      throw error;
    }
    return undo;
  },
});

/**
 * @returns whether all are taken. A refused connection proves less: a client that is logging in
 * counts, too, and it may have its connection a moment later.
 */
async function takeNext(root: Connection, url: URL, taken: Connection[]): Promise<boolean> {
  const next = await connect(url);
  if (next) taken.push(next);
  const own = new Set(taken.map(({ threadId }) => threadId));
  const sessions = await sessionsOf(root, url.username, rootUser, loggingIn);
  for (const id of sessions) if (!own.has(id)) await killSession(root, id);
  return taken.length === fewest;
}

/** Null when the database has none to give. */
async function connect({ href: uri }: URL): Promise<Connection | null> {
  try {
    const connection = await mysql.createConnection({ uri });
    connection.on('error', () => {}); // It is closed by the undo, or with its database.
    return connection;
  } catch (error) {
    if ((error as { readonly errno?: number }).errno === tooManyConnections) return null;
    throw error;
  }
}
