/**
 * Compares Redis and MySQL, also while sales go on. A difference counts when two readings in a row
 * have it: one that was seen once was an order on its way.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Connections } from '../../connections/connections.ts';
import { epochsOf } from '../../connections/epoch.ts';
import { serviceError } from '../../errors.ts';
import { finishChanges } from '../voucher-changes.ts';
import {
  type Difference,
  differencesOf,
  inFlight,
  orderDifferences,
  type Sale,
  type SalePart,
  type SaleTerms,
} from './differences.ts';
import { type ReadSales, readSales } from './read-sales.ts';

/** Longer than a worker takes from one step of an order to the next. */
const betweenReadingsMs = 300;
const readingsMax = 6;

export interface ReconciledVoucher extends SaleTerms {
  /** Null when Redis does not have the sale. */
  readonly stock: number | null;
  readonly inFlight: number;
  readonly recorded: number;
  readonly buyers: number;
  /** While purchases are made, the numbers are of slightly different moments. */
  readonly isMoving: boolean;
  readonly differences: readonly Difference[];
}

export interface Reconciliation {
  readonly verdict: 'consistent' | 'inconsistent' | 'unknown';
  readonly vouchers: readonly ReconciledVoucher[];
  /** Sales that are over, and whose keys were deleted. */
  readonly removed: number;
  /** Differences that the next reading did not have: orders on their way. */
  readonly passing: number;
}

/**
 * @param voucherId only this one; every voucher of the final rung without it.
 * @throws REBUILD_UNFINISHED, EPOCHS_DIFFER, TOO_MANY_DIFFERENCES, or the error of a store that
 *   did not answer.
 */
export async function reconcile(
  connections: Connections,
  voucherId?: string,
): Promise<Reconciliation> {
  return (await compare(connections, voucherId)).reconciliation;
}

/** @returns a reconciliation, and the epoch that a repair needs */
export async function compare(
  connections: Connections,
  voucherId?: string,
): Promise<{ epoch: string; reconciliation: Reconciliation }> {
  const epoch = await comparableEpoch(connections);
  // Until then, the two stores have another stock. Without an epoch, nothing is changed.
  if (epoch !== '') await finishChanges(connections, { epoch, voucherId });
  const passed = new Set<string>();
  let earlier = await read(connections, voucherId);
  if (earlier.keys.size === 0) return { epoch, reconciliation: result('consistent', earlier, 0) };
  for (let readings = 2; readings <= readingsMax; readings++) {
    await sleep(betweenReadingsMs);
    const later = await read(connections, voucherId);
    const both = new Set([...later.keys].filter((key) => earlier.keys.has(key)));
    for (const key of earlier.keys) if (!both.has(key)) passed.add(key);
    const isClear = both.size > 0 || later.keys.size === 0;
    if (isClear) {
      const verdict = both.size > 0 ? 'inconsistent' : 'consistent';
      return { epoch, reconciliation: result(verdict, only(later, both), passed.size) };
    }
    earlier = later;
  }
  return { epoch, reconciliation: result('unknown', earlier, passed.size) };
}

/** What cannot be compared is not repaired either. */
async function comparableEpoch(connections: Connections): Promise<string> {
  const { ofRedis, isRebuilding } = await epochsOf(connections);
  if (isRebuilding) throw serviceError('REBUILD_UNFINISHED');
  return ofRedis;
}

interface Reading extends ReadSales<ReconciledVoucher> {
  readonly keys: ReadonlySet<string>;
}

/** Of each sale, only its numbers and differences are kept: its orders may be many. */
async function read(connections: Connections, voucherId?: string): Promise<Reading> {
  const reader = { part: upTo(differencesMax), whole: reconciled };
  const found = await readSales(connections, reader, voucherId);
  const keys = found.sales.flatMap((each) => each.differences.map((one) => keyOf(each, one)));
  return { ...found, keys: new Set(keys) };
}

interface ComparedPart {
  readonly inFlight: number;
  readonly differences: readonly Difference[];
}

/** A list of this length takes 130 MB. */
const differencesMax = 300_000;

/** Of one reading. @param most differences of all parts together */
export function upTo(most: number): (part: SalePart) => ComparedPart {
  let count = 0;
  return (part) => {
    const differences = orderDifferences(part);
    count += differences.length;
    if (count > most) throw serviceError('TOO_MANY_DIFFERENCES', most);
    return { inFlight: inFlight(part).length, differences };
  };
}

const reconciled = (sale: Sale, parts: readonly ComparedPart[]): ReconciledVoucher => ({
  voucherId: sale.voucherId,
  initialStock: sale.initialStock,
  stock: sale.redis.stock,
  terms: sale.terms,
  recorded: sale.recorded,
  inFlight: parts.reduce((sum, part) => sum + part.inFlight, 0),
  buyers: sale.redis.buyers,
  isMoving: sale.isMoving,
  differences: differencesOf(
    sale,
    parts.flatMap(({ differences }) => differences),
  ),
  ...(sale.buckets !== undefined && { buckets: sale.buckets }),
});

/** Its sentence has the order, or the numbers: another number is another difference. */
const keyOf = ({ voucherId }: ReconciledVoucher, { kind, says, ...rest }: Difference): string =>
  `${voucherId} ${kind} ${'gap' in rest ? rest.gap : JSON.stringify(says)}`;

const only = (reading: Reading, keys: ReadonlySet<string>): Reading => ({
  ...reading,
  sales: reading.sales.map((sale) => ({
    ...sale,
    differences: sale.differences.filter((each) => keys.has(keyOf(sale, each))),
  })),
  keys,
});

const result = (
  verdict: Reconciliation['verdict'],
  { sales: vouchers, removed }: Reading,
  passing: number,
): Reconciliation => ({ verdict, vouchers, removed, passing });
