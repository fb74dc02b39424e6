/** How many transactions wait for a row of InnoDB. Only the administrator may ask. */
import { join } from 'node:path';
import { Mutex } from 'async-mutex';
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { asDatabaseRoot } from '../environment/database-root.ts';
import type { Lab } from '../environment/lab.ts';

/** @param others vouchers whose rows do not count */
export type RowWaits = (others?: readonly string[]) => Promise<number>;

/** The index entry that each of them waits for. */
const waits = {
  mariadb: `SELECT DISTINCT waiting.requesting_trx_id, place.lock_data AS entry
    FROM information_schema.INNODB_LOCK_WAITS AS waiting
    JOIN information_schema.INNODB_LOCKS AS place ON place.lock_id = waiting.requested_lock_id`,
  mysql: `SELECT LOCK_DATA AS entry FROM performance_schema.data_locks
    WHERE LOCK_STATUS = 'WAITING'`,
};

/**
 * MariaDB copies its transactions for these tables when nobody has read them for 100 ms: plays that
 * look more often together would read the same copy again and again.
 */
const lookEveryMs = 105;

function limited(read: () => Promise<RowDataPacket[]>): RowWaits {
  let readAt = Number.NEGATIVE_INFINITY;
  let rows: RowDataPacket[] = [];
  const turn = new Mutex();
  const look = async () => {
    if (performance.now() - readAt < lookEveryMs) return;
    rows = await read();
    readAt = performance.now();
  };
  return async (others = []) => {
    await turn.runExclusive(look);
    return rows.filter(({ entry }) => !others.includes(voucherIn(String(entry)))).length;
  };
}

const readWith = (database: Lab['database']) => async (root: Connection) =>
  (await root.query<RowDataPacket[]>(waits[database]))[0];

/** Without a connection that stays: a fault may end it. A database that is away says nothing. */
export const rowWaitsNow = ({ folder, database }: Lab): RowWaits =>
  limited(() => asDatabaseRoot(join(folder, database), readWith(database)).catch(() => []));

/** Every key of a table that lanes wait in begins with the voucher; that of a fence names it. */
const voucherIn = (entry: string): string => /\d+/.exec(entry)?.[0] ?? '';
