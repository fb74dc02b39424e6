/** Faults of the database, and of what other clients do in it. */

import mysql, { type Connection, type RowDataPacket } from 'mysql2/promise';
import {
  allowConnections,
  asDatabaseRoot,
  connectAsRoot,
  fullTrigger,
  killSession,
  loggingIn,
  restoreSettings,
  rootUser,
  sessionsOf,
} from '../environment/database-root.ts';
import type { Lab } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import { connectionsMax, databaseName } from '../environment/servers/database.ts';
import { waitFor, waitUntil } from '../environment/wait-until.ts';
import { type Fault, type FaultRow, momentary, type WatchedFault } from './fault.ts';

const tableIsFull =
  "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'The table is full'";

/** What an administrator changes, until the settings of the database are as before. */
const changed = (what: string, database: string, statement: string): Fault => ({
  name: what,
  async inject(lab) {
    const data = lab.dataFolder(database);
    await asDatabaseRoot(data, (root) => root.query(statement));
    return () => restoreSettings(data);
  },
});

/**
 * The database has no space for an order: every insert of one is answered with the error of a full
 * table (1114), by a trigger. A server whose disk is full answers the same, and takes small changes
 * of rows that it has.
 */
export const fullDatabase = (name: string): Fault => {
  const create = `CREATE TRIGGER ${fullTrigger} BEFORE INSERT ON ${databaseName}.orders`;
  return changed(`fill ${name}`, name, `${create} FOR EACH ROW ${tableIsFull}`);
};

/**
 * The database takes no writes: `SET GLOBAL read_only`, as after a failover to a replica, or by an
 * operator whose disk is nearly full. It answers every read.
 */
export const readOnlyDatabase = (name: string): Fault =>
  changed(`make ${name} read-only`, name, 'SET GLOBAL read_only = ON');

/** The least that MariaDB accepts. One more is left for another root. */
const connectionsMin = 10;
const tooManyConnections = 1040;

/**
 * Other clients have all connections of the database: the service has lost those that it had, and
 * is refused a new one (1040, "Too many connections"). The database itself is well.
 */
export const exhaustConnections = (database: string): WatchedFault => ({
  name: `use up the connections of ${database}`,
  watch: (lab) => async () => {
    const connection = await connectIfFree(new URL(lab.environment['MYSQL_URL'] ?? ''));
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
      const allow = (by: Connection) => allowConnections(by, connectionsMax);
      // Where the database was stopped meanwhile, this connection of root is lost.
      try {
        await allow(root).catch(() => asDatabaseRoot(data, allow));
      } finally {
        for (const connection of taken) connection.destroy();
      }
    };
    try {
      await allowConnections(root, connectionsMin);
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
  const next = await connectIfFree(url);
  if (next) taken.push(next);
  const own = new Set(taken.map(({ threadId }) => threadId));
  const sessions = await sessionsOf(root, url.username, rootUser, loggingIn);
  for (const id of sessions) if (!own.has(id)) await killSession(root, id);
  return taken.length === connectionsMin;
}

/** Null when the database has none to give. */
async function connectIfFree({ href: uri }: URL): Promise<Connection | null> {
  try {
    const connection = await mysql.createConnection({ uri });
    connection.on('error', () => {}); // It is closed by the undo, or with its database.
    return connection;
  } catch (error) {
    if ((error as { readonly errno?: number }).errno === tooManyConnections) return null;
    throw error;
  }
}

/**
 * A transaction in MySQL has the stock of these vouchers locked. A worker that records an order of
 * one stands still in the middle of its own transaction. The undo lets it go on.
 */
export const holdStock = (voucherIds: readonly string[]): Fault => ({
  name: 'lock the stock in MySQL',
  async inject({ environment }) {
    const holder = await mysql.createConnection({ uri: environment['MYSQL_URL'] ?? '' });
    try {
      await holder.beginTransaction();
      const stock = 'SELECT stock FROM seckill_stock WHERE voucher_id IN (?) FOR UPDATE';
      await holder.query(stock, [voucherIds]);
    } catch (error) {
      holder.destroy();
      throw error;
    }
    return async () => {
      await holder.rollback();
      await holder.end();
    };
  },
});

/**
 * An administrator, or a proxy of the database, ends each session whose open transaction has locked
 * or changed a row. Its process runs on, and so does the database.
 */
export const killOpenTransaction = (database: string): WatchedFault => ({
  ...momentary(`kill the sessions in ${database} that are in a transaction`, (lab) =>
    killSessions(lab.dataFolder(database)),
  ),
  async watch(lab) {
    const data = lab.dataFolder(database);
    const open = await asDatabaseRoot(data, awaitOpenTransactions);
    return () => asDatabaseRoot(data, (root) => areGone(root, open));
  },
});

/** The pool opens another one by itself. */
const killSessions = (data: string): Promise<void> =>
  asDatabaseRoot(data, async (root) => {
    const open = await awaitOpenTransactions(root);
    for (const id of open) await killSession(root, id);
    await waitUntil('the end of the killed session', 5_000, () => areGone(root, open), rereadMs);
  });

async function awaitOpenTransactions(root: Connection): Promise<number[]> {
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

export const isInTransaction = (lab: Lab, session: number): Promise<boolean> =>
  asDatabaseRoot(lab.dataFolder(lab.database), async (root) =>
    (await openTransactions(root)).includes(session),
  );

/** InnoDB copies its list of transactions when nobody has read it for 100 ms. */
export const rereadMs = 150;

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

/**
 * MySQL refuses a user's orders of a voucher: someone added a constraint by mistake. A failed order
 * is not refused: it is the record of the refusal.
 */
export const refuseOrders = (voucherId: string, userId: string): Fault => ({
  name: `refuse the orders of user ${userId} of voucher ${voucherId}`,
  async inject(lab) {
    const name = `refuses_${voucherId}`;
    const others = `voucher_id <> ${voucherId} OR user_id <> ${userId}`;
    const condition = `status = 'failed' OR ${others}`;
    await inMysql(lab, `ALTER TABLE orders ADD CONSTRAINT ${name} CHECK (${condition})`);
    return () => inMysql(lab, `ALTER TABLE orders DROP CONSTRAINT ${name}`);
  },
});

/** MySQL checks every row that is there: of all sales that this lab has ever had. */
const everyRowMs = 120_000;

function inMysql({ environment }: Lab, statement: string): Promise<void> {
  const patient = { environment: { ...environment, MYSQL_ANSWER_MS: String(everyRowMs) } };
  return withConnections(patient, async (connections) => {
    await connections.mysql().query(statement);
  });
}

export const databaseFaults = {
  'fill-database': { hits: 'database', effect: 'lasting', on: fullDatabase },
  'read-only': { hits: 'database', effect: 'lasting', on: readOnlyDatabase },
  'use-up-connections': { hits: 'database', effect: 'lasting', on: exhaustConnections },
  'kill-open-transaction': { hits: 'database', effect: 'momentary', on: killOpenTransaction },
} as const satisfies Record<string, FaultRow>;
