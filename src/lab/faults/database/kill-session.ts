/**
 * An administrator, or a proxy of the database, ends each session whose open transaction has locked
 * or changed a row. Its process runs on, and so does the database.
 */
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { asDatabaseRoot, killSession } from '../../environment/database-root.ts';
import { waitFor, waitUntil } from '../../environment/wait-until.ts';
import type { WatchedFault } from '../fault.ts';

export const killOpenTransaction = (database: string): WatchedFault => ({
  name: `kill the sessions in ${database} that are in a transaction`,
  async watch(lab) {
    const data = lab.dataFolder(database);
    const open = await asDatabaseRoot(data, awaitSome);
    return () => asDatabaseRoot(data, (root) => areGone(root, open));
  },
  async inject(lab) {
    await asDatabaseRoot(lab.dataFolder(database), async (root) => {
      const open = await awaitSome(root);
      for (const id of open) await killSession(root, id);
      await waitUntil('the end of the killed session', 5_000, () => areGone(root, open), rereadMs);
    });
    return async () => {}; // The pool opens another one by itself.
  },
});

async function awaitSome(root: Connection): Promise<number[]> {
  const find = async () => {
    const open = await openTransactions(root);
    return open.length > 0 ? open : null;
  };
  return waitFor('an open transaction', 5_000, find, rereadMs);
}

const areGone = async (root: Connection, sessions: readonly number[]): Promise<boolean> => {
  const left = await openTransactions(root);
  return !sessions.some((id) => left.includes(id));
};

/** InnoDB copies its list of transactions when nobody has read it for 100 ms. */
const rereadMs = 150;

interface Transaction extends RowDataPacket {
  readonly session: number;
}

/** The sessions of open transactions that are no mere reads. */
async function openTransactions(root: Connection): Promise<number[]> {
  const [transactions] = await root.query<Transaction[]>(
    `SELECT trx_mysql_thread_id AS session FROM information_schema.innodb_trx
     WHERE trx_rows_locked + trx_rows_modified > 0`,
  );
  return transactions.map(({ session }) => Number(session)).filter((session) => session > 0);
}
