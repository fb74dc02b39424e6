/**
 * An administrator, or a proxy of the database, ends each session whose open transaction has locked
 * or changed a row. Its process runs on, and so does the database.
 */
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { asDatabaseRoot, killSession } from '../environment/database-root.ts';
import { waitUntil } from '../environment/wait-until.ts';
import type { Fault } from './fault.ts';

export const killOpenTransaction = (database: string): Fault => ({
  name: `kill the sessions in ${database} that are in a transaction`,
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

/** The sessions of open transactions that are no mere reads. */
async function openTransactions(root: Connection): Promise<number[]> {
  const [transactions] = await root.query<Transaction[]>(
    `SELECT trx_mysql_thread_id AS session FROM information_schema.innodb_trx
     WHERE trx_rows_locked + trx_rows_modified > 0`,
  );
  return transactions.map(({ session }) => Number(session)).filter((session) => session > 0);
}
