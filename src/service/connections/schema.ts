/**
 * The tables, as migrations that run once each, in order. MySQL commits every DDL statement by
 * itself: so a migration is one statement, and repeating it changes nothing. A process that dies
 * between a statement and its record leaves a statement that the next start repeats.
 */

import type { Connection, RowDataPacket } from 'mysql2/promise';
import { serviceError } from '../errors.ts';
import { openConnection } from './mysql-pool.ts';

const migrations: Readonly<Record<string, string>> = {
  '0001-vouchers': `CREATE TABLE IF NOT EXISTS vouchers (
     id         BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
     title      VARCHAR(200) NOT NULL,
     begin_time DATETIME(3)  NOT NULL,
     end_time   DATETIME(3)  NOT NULL,
     rung       VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
     created_at DATETIME(3)  NOT NULL DEFAULT CURRENT_TIMESTAMP(3)
   ) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4`,
  // Stock is signed, so that a weak rung's fault shows in the audit and not as an error.
  '0002-seckill-stock': `CREATE TABLE IF NOT EXISTS seckill_stock (
     voucher_id    BIGINT NOT NULL PRIMARY KEY,
     initial_stock INT    NOT NULL,
     stock         INT    NOT NULL,
     version       INT    NOT NULL DEFAULT 0
   ) ENGINE = InnoDB`,
  // one_per_user is 1 with rails and NULL without: NULLs are not equal to each other. A failed
  // order has NULL too, so its user may buy again.
  '0003-orders': `CREATE TABLE IF NOT EXISTS orders (
     id           BIGINT      NOT NULL PRIMARY KEY,
     voucher_id   BIGINT      NOT NULL,
     user_id      BIGINT      NOT NULL,
     request_id   VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
     status       ENUM('confirmed', 'failed') NOT NULL DEFAULT 'confirmed',
     reason       VARCHAR(64) NULL,
     one_per_user TINYINT     NULL,
     created_at   DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
     UNIQUE KEY one_order_per_user (voucher_id, user_id, one_per_user)
   ) ENGINE = InnoDB`,
  '0004-lab-options': `CREATE TABLE IF NOT EXISTS lab_options (
     voucher_id BIGINT  NOT NULL PRIMARY KEY,
     rails      TINYINT NOT NULL,
     work_ms    INT     NOT NULL,
     retries    INT     NOT NULL
   ) ENGINE = InnoDB`,
  // Row 1 is the epoch, row 2 the one that the last rebuild replaced: see epoch.ts.
  '0005-epoch': `CREATE TABLE IF NOT EXISTS store_epoch (
     id    TINYINT  NOT NULL PRIMARY KEY,
     value CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
   ) ENGINE = InnoDB`,
  // A row for each resource: the largest fence that may not write any more. See fences.ts. A row
  // may be deleted once the sale is over.
  '0006-fences': `CREATE TABLE IF NOT EXISTS fences (
     resource VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
     closed   BIGINT NOT NULL
   ) ENGINE = InnoDB`,
  // A row for each unit of the stock of a voucher on the rung unit-rows. Without an order it is for
  // sale: the key finds such a unit, and lets an order have one unit only.
  '0007-voucher-units': `CREATE TABLE IF NOT EXISTS voucher_units (
     voucher_id BIGINT NOT NULL,
     unit       INT    NOT NULL,
     order_id   BIGINT NULL,
     PRIMARY KEY (voucher_id, unit),
     UNIQUE KEY one_unit_per_order (voucher_id, order_id)
   ) ENGINE = InnoDB`,
  // A row for each voucher that declares its number of buckets. Without a row it is as
  // VOUCHER_BUCKETS says. No column of vouchers: MySQL has no ADD COLUMN that may run twice.
  '0008-voucher-buckets': `CREATE TABLE IF NOT EXISTS voucher_buckets (
     voucher_id BIGINT NOT NULL PRIMARY KEY,
     buckets    INT    NOT NULL
   ) ENGINE = InnoDB`,
  // The journal of the changes of operators: see orders/voucher-changes.ts. The values are those
  // after the change. Without an end time, the sale ends when the change is applied. `sold`: why it
  // was refused.
  '0009-voucher-changes': `CREATE TABLE IF NOT EXISTS voucher_changes (
     voucher_id   BIGINT       NOT NULL,
     number       INT          NOT NULL,
     operator_id  BIGINT       NOT NULL,
     state        ENUM('begun', 'done', 'refused') NOT NULL DEFAULT 'begun',
     title        VARCHAR(200) NOT NULL,
     stock_before INT          NOT NULL,
     stock        INT          NOT NULL,
     begin_time   DATETIME(3)  NOT NULL,
     end_time     DATETIME(3)  NULL,
     paused       TINYINT      NOT NULL,
     sold         INT          NULL,
     begun_at     DATETIME(3)  NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
     settled_at   DATETIME(3)  NULL,
     PRIMARY KEY (voucher_id, number),
     KEY by_state (state)
   ) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4`,
  // A row for each voucher that was changed: its last change, and whether its sale is paused.
  '0010-voucher-states': `CREATE TABLE IF NOT EXISTS voucher_states (
     voucher_id    BIGINT  NOT NULL PRIMARY KEY,
     change_number INT     NOT NULL,
     paused        TINYINT NOT NULL
   ) ENGINE = InnoDB`,
  // A row for each voucher that has a waiting room.
  '0011-voucher-waiting-rooms': `CREATE TABLE IF NOT EXISTS voucher_waiting_rooms (
     voucher_id     BIGINT NOT NULL PRIMARY KEY,
     passes_at_once INT    NOT NULL
   ) ENGINE = InnoDB`,
};

const lockSeconds = 60;

/**
 * Needs the rights of the account only while a table is missing.
 * @throws TABLES_MISSING, or the first migration's error; those before it stay applied.
 */
export async function migrate(mysqlUrl: string): Promise<void> {
  const db = await openConnection(mysqlUrl);
  try {
    const missing = await missingMigrations(db);
    if (missing.length === 0) return;
    await applyMissing(db).catch((error: unknown) => {
      const isDenied = hasCode(error, 'ER_TABLEACCESS_DENIED_ERROR');
      throw isDenied ? serviceError('TABLES_MISSING', missing).causedBy(error) : error;
    });
  } finally {
    db.destroy(); // With the connection ends its lock.
  }
}

async function applyMissing(db: Connection): Promise<void> {
  await lockSchema(db);
  await db.query(`CREATE TABLE IF NOT EXISTS migrations (
    name       VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    applied_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)
  ) ENGINE = InnoDB`);
  for (const name of await missingMigrations(db)) {
    await db.query(migrations[name] ?? '');
    await db.query('INSERT INTO migrations (name) VALUES (?)', [name]);
  }
}

/** One process migrates at a time; the lock belongs to this connection. */
async function lockSchema(db: Connection): Promise<void> {
  const [[row]] = await db.query<RowDataPacket[]>("SELECT GET_LOCK('lockstep-schema', ?) AS got", [
    lockSeconds,
  ]);
  if (Number(row?.['got']) !== 1)
    throw serviceError('DEADLINE_PASSED', 'the lock of the migrations', lockSeconds * 1_000);
}

async function missingMigrations(db: Connection): Promise<string[]> {
  const applied = await appliedMigrations(db);
  return Object.keys(migrations).filter((name) => !applied.has(name));
}

async function appliedMigrations(db: Connection): Promise<ReadonlySet<unknown>> {
  try {
    const [rows] = await db.query<RowDataPacket[]>('SELECT name FROM migrations');
    return new Set(rows.map(({ name }) => name as unknown));
  } catch (error) {
    if (hasCode(error, 'ER_NO_SUCH_TABLE')) return new Set();
    throw error;
  }
}

const hasCode = (error: unknown, code: string): boolean =>
  (error as { code?: unknown } | null)?.code === code;
