/** How many transactions wait for a row of InnoDB. Only the administrator may ask. */
import { join } from 'node:path';
import type { RowDataPacket } from 'mysql2/promise';
import { asDatabaseRoot } from '../environment/database-root.ts';
import type { Lab } from '../environment/lab.ts';

export type RowWaits = () => Promise<number>;

export const withRowWaits = <T>(
  { folder, database }: Lab,
  work: (rowWaits: RowWaits) => Promise<T>,
): Promise<T> =>
  asDatabaseRoot(join(folder, database), (root) =>
    work(async () => {
      const [rows] = await root.query<RowDataPacket[]>(
        "SELECT COUNT(*) AS waits FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'",
      );
      return Number(rows[0]?.['waits']);
    }),
  );
