/** The journal of the changes of operators: MySQL has who changed a voucher, and how. */
import { change, type Queryable, select, type Value } from '../connections/mysql.ts';
import type { BucketCount } from '../connections/sale-keys.ts';

/** An entry of the journal. Its values are those after the change. */
export interface VoucherChange {
  /** 1, 2, … for each voucher. */
  readonly number: number;
  readonly operatorId: string;
  readonly state: 'begun' | 'done' | 'refused';
  readonly title: string;
  readonly stockBefore: number;
  readonly stock: number;
  readonly beginTime: Date;
  /** Null until the change is applied, when it closes the sale. */
  readonly endTime: Date | null;
  readonly paused: boolean;
  /** How many were sold, when that is more than the stock: then the change is refused. */
  readonly sold: number | null;
  readonly begunAt: Date;
  readonly settledAt: Date | null;
}

/** A change that is not settled, and what applies it needs to know of its voucher. */
export interface BegunChange extends VoucherChange {
  readonly rung: string;
  readonly buckets: BucketCount;
  /** Of the last settled change; null when there is none. */
  readonly before: number | null;
}

type Row<Change extends VoucherChange> = Omit<Change, 'paused'> & { readonly paused: number };

/** Of the journal in one answer. */
export const changesPerPage = 100;

const columns = `c.number, CAST(c.operator_id AS CHAR) AS operatorId, c.state, c.title,
  c.stock_before AS stockBefore, c.stock, c.begin_time AS beginTime, c.end_time AS endTime,
  c.paused, c.sold, c.begun_at AS begunAt, c.settled_at AS settledAt`;

/** A page of the journal of a voucher: the changes after this number, in their order. */
export async function changesOf(
  db: Queryable,
  voucherId: string,
  after = 0,
): Promise<VoucherChange[]> {
  const rows = await select<Row<VoucherChange>>(
    db,
    `SELECT ${columns} FROM voucher_changes c
     WHERE c.voucher_id = ? AND c.number > ? ORDER BY c.number LIMIT ${changesPerPage}`,
    [voucherId, after],
  );
  return rows.map(asChange);
}

export async function changeNumbered(
  db: Queryable,
  voucherId: string,
  number: number,
): Promise<VoucherChange | undefined> {
  const [found] = await changesOf(db, voucherId, number - 1);
  return found?.number === number ? found : undefined;
}

/** One change of a voucher is begun at a time. */
export async function begunChange(
  db: Queryable,
  voucherId: string,
): Promise<BegunChange | undefined> {
  const [row] = await select<Row<BegunChange>>(
    db,
    `SELECT ${columns}, v.rung, b.buckets, st.change_number AS \`before\`
     FROM voucher_changes c JOIN vouchers v ON v.id = c.voucher_id
     LEFT JOIN voucher_buckets b ON b.voucher_id = v.id
     LEFT JOIN voucher_states st ON st.voucher_id = v.id
     WHERE c.voucher_id = ? AND c.state = 'begun'`,
    [voucherId],
  );
  return row && asChange(row);
}

/** Each order worker asks this every second: in a log of MySQL, it is of no purchase. */
export const allBegunChanges = "FROM voucher_changes WHERE state = 'begun' AND begun_at <=";

/** The vouchers with a change that was begun at least `ageMsMin` ago. */
export async function vouchersBegun(db: Queryable, ageMsMin: number): Promise<string[]> {
  const rows = await select<{ id: string }>(
    db,
    `SELECT CAST(voucher_id AS CHAR) AS id
     ${allBegunChanges} CURRENT_TIMESTAMP(3) - INTERVAL ? MICROSECOND`,
    [String(ageMsMin * 1_000)],
  );
  return rows.map(({ id }) => id);
}

export async function insertBegun(
  db: Queryable,
  voucherId: string,
  begun: Omit<VoucherChange, 'state' | 'sold' | 'begunAt' | 'settledAt'>,
): Promise<void> {
  const { number, operatorId, title, stockBefore, stock, beginTime, endTime, paused } = begun;
  const values: Value[] = [voucherId, number, operatorId, title, stockBefore, stock];
  await change(
    db,
    `INSERT INTO voucher_changes (voucher_id, number, operator_id, title, stock_before, stock,
       begin_time, end_time, paused) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [...values, beginTime, endTime, paused ? 1 : 0],
  );
}

/** Both stores have this change now, or have refused it. */
export async function recordLast(
  db: Queryable,
  voucherId: string,
  number: number,
  paused: boolean,
): Promise<void> {
  await change(
    db,
    'REPLACE INTO voucher_states (voucher_id, change_number, paused) VALUES (?, ?, ?)',
    [voucherId, number, paused ? 1 : 0],
  );
}

export async function markSettled(
  db: Queryable,
  voucherId: string,
  { number, state, endTime, sold }: Pick<VoucherChange, 'number' | 'state' | 'endTime' | 'sold'>,
): Promise<void> {
  await change(
    db,
    `UPDATE voucher_changes SET state = ?, end_time = ?, sold = ?,
       settled_at = CURRENT_TIMESTAMP(3) WHERE voucher_id = ? AND number = ?`,
    [state, endTime, sold, voucherId, number],
  );
}

const asChange = <Change extends VoucherChange>(row: Row<Change>): Change =>
  ({ ...row, paused: row.paused === 1 }) as unknown as Change;
