/** The tables, as migrations that run once each, in order, under the database's own lock (kysely's Migrator). */
import { Kysely, type Migration, Migrator, MysqlDialect, sql } from 'kysely';
import { createPool } from 'mysql2';

const statements = (...all: string[]): Migration => ({
  async up(db) {
    for (const statement of all) await sql.raw(statement).execute(db);
  },
});

const migrations: Record<string, Migration> = {
  '0001-flash-sale': statements(
    `CREATE TABLE vouchers (
       id         BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
       title      VARCHAR(200) NOT NULL,
       begin_time DATETIME(3)  NOT NULL,
       end_time   DATETIME(3)  NOT NULL,
       rung       VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
       rails      BOOLEAN      NOT NULL,
       work_ms    INT          NOT NULL,
       created_at DATETIME(3)  NOT NULL DEFAULT CURRENT_TIMESTAMP(3)
     ) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4`,
    // Stock is signed, so that a weak rung's mistake shows in the audit and not as an error.
    `CREATE TABLE seckill_stock (
       voucher_id    BIGINT NOT NULL PRIMARY KEY,
       initial_stock INT    NOT NULL,
       stock         INT    NOT NULL,
       version       INT    NOT NULL DEFAULT 0
     ) ENGINE = InnoDB`,
    // one_per_user is 1 with rails and NULL without: NULLs are not equal to each other. A failed order has NULL too,
    // so its user may buy again.
    `CREATE TABLE orders (
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
  '0002-retries': statements('ALTER TABLE vouchers ADD COLUMN retries INT NOT NULL DEFAULT 0'),
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
