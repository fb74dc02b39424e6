/**
 * Idea. Each process gathers the buyers of a voucher for a moment, and sells to all of them in one
 *   transaction: one row lock, one look for earlier orders, one multi-row insert, one decrement by
 *   their number, one COMMIT. Every buyer is answered after the COMMIT: accepted is recorded.
 * Holds while. Always: the row of the stock is locked from the first statement to the COMMIT, so
 *   the batches of all processes sell one after the other.
 * Breaks when. Never. A connection that is lost during the COMMIT makes the outcome unknown for the
 *   whole batch, and a paused process keeps the row locked, as in every inventory in MySQL.
 * Source. Group commit: MySQL's binary log; Xiaohongshu RedSQL's merged sales of a hot row.
 */
import {
  change,
  isDuplicateKey,
  isRowRefused,
  type Pool,
  type PoolConnection,
  type RowDataPacket,
  select,
  transaction,
} from '../connections/mysql.ts';
import { hasRails, type Order, type Outcome, refused, type Voucher } from '../domain.ts';
import { LeaseLost } from '../errors.ts';
import type { Lease } from '../locks/lock.ts';
import { type CheckpointName, ownCheckpoint, work } from '../trace/checkpoints.ts';
import { record } from '../trace/history.ts';
import type { Inventory } from './inventory.ts';
import { type BatchLimits, batches } from './shared/batches.ts';
import { outcomeOfError, stockLeft } from './shared/sql-sale.ts';

const defaults = { gatherMs: 1, batchSize: 250, waitingMax: 5_000 } as const;

type Limits = Partial<BatchLimits> & Pick<BatchLimits, 'waitMs'>;

interface Buyer {
  readonly order: Order;
  readonly voucher: Voucher;
  readonly lease: Lease;
  /** A checkpoint of this buyer's own request. */
  readonly reach: ReturnType<typeof ownCheckpoint>;
  readonly answer: (outcome: Outcome | Promise<Outcome>) => void;
}

export function mergedCommit(pool: Pool, limits: Limits): Inventory {
  const add = batches<Buyer>(
    {
      run: (buyers) => sell(pool, buyers),
      refuse: ({ answer }) => answer(refused('database-busy')),
    },
    { ...defaults, ...limits },
  );
  return {
    clock: 'instance',
    prepare: async () => {}, // The stock row is inserted together with the voucher.
    sell: (order, voucher, lease) =>
      new Promise((answer) => {
        add(voucher.id, { order, voucher, lease, reach: ownCheckpoint(), answer });
      }),
    remaining: ({ id }) => stockLeft(pool, id),
  };
}

/** To buyers of one voucher. Each of them is answered, and this does not reject. */
async function sell(pool: Pool, buyers: readonly Buyer[]): Promise<void> {
  const [first] = buyers;
  if (!first) return;
  const statements = (db: PoolConnection) => sellBatch(db, buyers, first.voucher);
  await transaction(pool, 'READ COMMITTED', statements).then(answerAll, (error: unknown) =>
    batchFailed(pool, buyers, error),
  );
}

function answerAll(outcomes: ReadonlyMap<Buyer, Outcome>): void {
  for (const [buyer, outcome] of outcomes) {
    if (isSaleTo(buyer, outcome)) record('committed', buyer.order);
    buyer.answer(outcome);
  }
}

/**
 * If one order made the batch fail, each order is sold by itself. After an unknown COMMIT it may
 * all be sold, and each buyer is told that.
 */
async function batchFailed(pool: Pool, buyers: readonly Buyer[], error: unknown): Promise<void> {
  if (buyers.length > 1 && isAboutOneOrder(error))
    for (const buyer of buyers) await sell(pool, [buyer]);
  else for (const { order, answer } of buyers) answer(outcomeOfError(error, pool, order));
}

const isAboutOneOrder = (error: unknown): boolean =>
  error instanceof LeaseLost || isDuplicateKey(error) || isRowRefused(error);

async function sellBatch(
  db: PoolConnection,
  buyers: readonly Buyer[],
  voucher: Voucher,
): Promise<ReadonlyMap<Buyer, Outcome>> {
  const [row] = await select<{ stock: number }>(
    db,
    'SELECT stock FROM seckill_stock WHERE voucher_id = ? FOR UPDATE',
    [voucher.id],
  );
  const outcomes = decide(buyers, row?.stock ?? 0, await earlierOrders(db, voucher, buyers));
  const sold = buyers.filter((buyer) => isSaleTo(buyer, outcomes.get(buyer)));
  if (sold.length === 0) return outcomes;
  await eachReaches(sold, 'after-check');
  await work(voucher);
  await insertOrders(db, sold, voucher);
  await change(db, 'UPDATE seckill_stock SET stock = stock - ? WHERE voucher_id = ?', [
    ...[sold.length, voucher.id],
  ]);
  await eachReaches(sold, 'stock-taken');
  for (const { lease } of sold) lease.assertHeld(); // The last check before the commit.
  await eachReaches(sold, 'before-commit');
  return outcomes;
}

interface RequestOrder {
  readonly id: string;
  readonly requestId: string;
}

/** In the order of their requests. Of several requests of one user, the first one buys. */
function decide(
  buyers: readonly Buyer[],
  stock: number,
  owned: Map<string, RequestOrder>,
): Map<Buyer, Outcome> {
  let left = stock;
  const outcomeFor = ({ order }: Buyer): Outcome => {
    const earlier = owned.get(order.userId);
    if (earlier) return again(order, earlier);
    if (left <= 0) return refused('sold-out');
    left -= 1;
    owned.set(order.userId, order);
    return { kind: 'accepted', orderId: order.id, status: 'confirmed' };
  };
  return new Map(buyers.map((buyer) => [buyer, outcomeFor(buyer)]));
}

/** A repeated request is answered with the order that it already has. */
const again = ({ requestId }: Order, earlier: RequestOrder): Outcome =>
  earlier.requestId === requestId
    ? { kind: 'accepted', orderId: earlier.id, status: 'confirmed' }
    : refused('already-ordered', earlier.id);

/** Not a repeated request: that one is accepted with the id of its earlier order. */
const isSaleTo = ({ order }: Buyer, outcome: Outcome | undefined): boolean =>
  outcome?.kind === 'accepted' && outcome.orderId === order.id;

/** User id → the order that the user has. All of them are committed: the stock's row is locked. */
async function earlierOrders(
  db: PoolConnection,
  { id }: Voucher,
  buyers: readonly Buyer[],
): Promise<Map<string, RequestOrder>> {
  // `query`, not `execute`: each batch size would add another prepared statement to the cache.
  const [rows] = await db.query<(RequestOrder & { readonly userId: string } & RowDataPacket)[]>(
    `SELECT CAST(id AS CHAR) AS id, CAST(user_id AS CHAR) AS userId, request_id AS requestId
     FROM orders WHERE voucher_id = ? AND user_id IN (?) AND status = 'confirmed'`,
    [id, buyers.map(({ order }) => order.userId)],
  );
  return new Map(rows.map((row) => [row.userId, row]));
}

async function insertOrders(
  db: PoolConnection,
  buyers: readonly Buyer[],
  voucher: Voucher,
): Promise<void> {
  const onePerUser = hasRails(voucher) ? 1 : null;
  const rows = buyers.map(({ order: { id, voucherId, userId, requestId } }) => [
    ...[id, voucherId, userId, requestId],
    onePerUser,
  ]);
  await db.query(
    'INSERT INTO orders (id, voucher_id, user_id, request_id, one_per_user) VALUES ?',
    [rows],
  );
}

/** Each one in its own request, so that the lab can pause any of them. */
async function eachReaches(buyers: readonly Buyer[], name: CheckpointName): Promise<void> {
  await Promise.all(buyers.map(({ reach }) => reach(name)));
}
