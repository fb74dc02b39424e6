/**
 * The tables, as migrations that run once each, in order, under the database's own lock (kysely's
 * Migrator). MySQL commits every DDL statement by itself: so a migration is one statement, and
 * repeating it changes nothing.
 */
import { Kysely, type Migration, Migrator, MysqlDialect, sql } from 'kysely';
import { createPool } from 'mysql2';

const statement = (ddl: string): Migration => ({
  async up(db) {
    await sql.raw(ddl).execute(db);
  },
});

const migrations: Record<string, Migration> = {
  '0001-vouchers': statement(
    `CREATE TABLE IF NOT EXISTS vouchers (
       id         BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
       title      VARCHAR(200) NOT NULL,
       begin_time DATETIME(3)  NOT NULL,
       end_time   DATETIME(3)  NOT NULL,
       rung       VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
       created_at DATETIME(3)  NOT NULL DEFAULT CURRENT_TIMESTAMP(3)
     ) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4`,
  ),
  // Stock is signed, so that a weak rung's fault shows in the audit and not as an error.
  '0002-seckill-stock': statement(
    `CREATE TABLE IF NOT EXISTS seckill_stock (
       voucher_id    BIGINT NOT NULL PRIMARY KEY,
       initial_stock INT    NOT NULL,
       stock         INT    NOT NULL,
       version       INT    NOT NULL DEFAULT 0
     ) ENGINE = InnoDB`,
  ),
  // one_per_user is 1 with rails and NULL without: NULLs are not equal to each other. A failed
  // order has NULL too, so its user may buy again.
  '0003-orders': statement(
    `CREATE TABLE IF NOT EXISTS orders (
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
  ),
  '0004-lab-options': statement(
    `CREATE TABLE IF NOT EXISTS lab_options (
       voucher_id BIGINT  NOT NULL PRIMARY KEY,
       rails      TINYINT NOT NULL,
       work_ms    INT     NOT NULL,
       retries    INT     NOT NULL
     ) ENGINE = InnoDB`,
  ),
};

/** @throws the first migration's error; those before it stay applied. */
export async function migrate(mysqlUrl: string): Promise<void> {
  const pool = createPool({
    uri: mysqlUrl,
    connectionLimit: 2,
    supportBigNumbers: true,
    bigNumberStrings: true,
  });
  const db = new Kysely<unknown>({ dialect: new MysqlDialect({ pool }) });
  try {
    const { error } = await new Migrator({
      db,
      provider: { getMigrations: async () => migrations },
    }).migrateToLatest();
    if (error) throw error;
  } finally {
    await db.destroy();
  }
}
