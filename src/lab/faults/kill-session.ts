/**
 * An administrator, or a proxy of the database, ends one session: the one whose transaction is
 * open. Its process runs on, and so does the database.
 */
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { asDatabaseRoot, killSession } from '../environment/database-root.ts';
import { waitUntil } from '../environment/wait-until.ts';
import type { Fault } from './fault.ts';

export const killOpenTransaction = (database: string): Fault => ({
  name: `kill the session in ${database} whose transaction is open`,
  async inject(lab) {
    await asDatabaseRoot(lab.dataFolder(database), async (root) => {
      let open: number[] = [];
      await waitUntil(
        'an open transaction',
        5_000,
        async () => {
          open = await openTransactions(root);
          return open.length > 0;
        },
        rereadMs,
      );
      for (const id of open) await killSession(root, id);
      await waitUntil(
        'the end of the killed session',
        5_000,
        async () => {
          const left = await openTransactions(root);
          return !open.some((id) => left.includes(id));
        },
        rereadMs,
      );
    });
    return async () => {}; // The pool opens another one by itself.
  },
});

/** InnoDB copies its list of transactions when nobody has read it for 100 ms. */
const rereadMs = 150;

interface Transaction extends RowDataPacket {
  readonly session: number;
}

/** The sessions of all open transactions. */
async function openTransactions(root: Connection): Promise<number[]> {
  const [transactions] = await root.query<Transaction[]>(
    'SELECT trx_mysql_thread_id AS session FROM information_schema.innodb_trx',
  );
  return transactions.map(({ session }) => Number(session)).filter((session) => session > 0);
}
