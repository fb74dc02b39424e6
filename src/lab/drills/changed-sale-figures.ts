/** What the changes of a sale under load cost, and the verdict from them. Pure. */
import type { Facts } from '../../service/audit/facts.ts';
import type { VoucherChange } from '../../service/orders/change-journal.ts';
import { countBy } from '../stage/count-by.ts';
import type { Judged } from '../stage/result.ts';
import type { Purchase, Try } from '../workload/steady-purchases.ts';
import { auditAll } from './audited.ts';
import { judgeUnderFire, stormFigures } from './storm-figures.ts';
import { answeredAt, isSale, sentAt } from './try-times.ts';

/** Moments of the clock of the tries. */
export interface Pause {
  readonly from: bigint;
  readonly to: bigint;
}

export interface ChangedSale {
  readonly purchases: readonly Purchase[];
  readonly tries: readonly Try[];
  /** With the tries as attempts. */
  readonly facts: Facts;
  readonly changes: readonly Pick<VoucherChange, 'state' | 'stock'>[];
  readonly pauses: readonly Pause[];
  /** What the last change of the stock asked for. */
  readonly wantedStock: number;
  /** Whether a stock below what is sold was refused. */
  readonly isRefusedBelowSold: boolean;
  /** Changes whose instance died at the named place. */
  readonly cuts: number;
  readonly kills: number;
}

/** Each sale has two, or the drill proves nothing about a change that a process left. */
const cutsOfSale = 2;
const isPaused = ({ reason }: Try): boolean => reason === 'sale-paused';

export function judgeChangedSale(sales: readonly ChangedSale[]): Judged {
  const facts = sales.map((sale) => sale.facts);
  const audits = auditAll(facts);
  const tries = sales.flatMap((sale) => sale.tries);
  const purchases = sales.flatMap((sale) => sale.purchases);
  const storm = stormFigures(purchases, tries, facts, ['sale-paused']);
  const states = countBy(sales.flatMap(({ changes }) => changes.map(({ state }) => state)));
  const figures = {
    ...storm,
    changesDone: states['done'] ?? 0,
    changesRefused: states['refused'] ?? 0,
    changesUnfinished: states['begun'] ?? 0,
    changesCut: sum(sales, ({ cuts }) => cuts),
    soldWhilePaused: sum(sales, (sale) => soldWhilePaused(sale).length),
    askedToWait: tries.filter(isPaused).length,
  };
  const wrong = { broken: sales.flatMap(wrongChanges), missing: sales.flatMap(missing) };
  const faults = { kill: sum(sales, ({ kills, cuts }) => kills + cuts) };
  return { ...judgeUnderFire(storm, audits, wrong), figures, faults };
}

const sum = (sales: readonly ChangedSale[], of: (sale: ChangedSale) => number): number =>
  sales.reduce((total, sale) => total + of(sale), 0);

/** Purchases whose first request was sent after a pause was answered, and sold before it ended. */
function soldWhilePaused({ tries, pauses }: ChangedSale): Try[] {
  const firstSent = new Map<string, bigint>();
  for (const each of tries) {
    const known = firstSent.get(each.requestId);
    if (known === undefined || sentAt(each) < known) firstSent.set(each.requestId, sentAt(each));
  }
  const isWithin = (each: Try) => (pause: Pause) =>
    (firstSent.get(each.requestId) ?? 0n) > pause.from && answeredAt(each) < pause.to;
  return tries.filter((each) => isSale(each) && pauses.some(isWithin(each)));
}

function wrongChanges(sale: ChangedSale): string[] {
  const { facts, wantedStock, changes, isRefusedBelowSold } = sale;
  const voucher = `voucher ${facts.voucherId}`;
  const sold = soldWhilePaused(sale).length;
  const unfinished = changes.filter(({ state }) => state === 'begun').length;
  const found: string[] = [];
  if (sold > 0) found.push(`${voucher}: ${sold} purchases were sold while the sale was paused`);
  if (unfinished > 0) found.push(`${voucher}: ${unfinished} changes were never finished`);
  if (facts.initialStock !== wantedStock && !isTooLate(sale))
    found.push(
      `${voucher}: the stock is ${facts.initialStock}, and the operator set ${wantedStock}`,
    );
  if (!isRefusedBelowSold) found.push(`${voucher}: a stock below what is sold was not refused`);
  return found;
}

/** On a slow machine the last change may come when more is sold: the service refuses it rightly. */
const isTooLate = ({ facts, wantedStock, changes }: ChangedSale): boolean =>
  facts.mysql.orders.length > wantedStock &&
  changes.some(({ state, stock }) => state === 'refused' && stock === wantedStock);

/** Without these, nothing could have gone wrong. */
function missing(sale: ChangedSale): string[] {
  const { facts, cuts, tries, kills, wantedStock } = sale;
  const voucher = `voucher ${facts.voucherId}`;
  const found: string[] = [];
  if (isTooLate(sale)) found.push(`${voucher}: a stock of ${wantedStock} came after more was sold`);
  if (cuts < cutsOfSale) found.push(`${voucher}: ${cuts} of ${cutsOfSale} changes were cut`);
  if (!tries.some(isPaused)) found.push(`${voucher}: nobody asked while it was paused`);
  if (!tries.some(({ reason }) => reason === 'sold-out'))
    found.push(`${voucher}: nobody was told "sold out"`);
  if (kills === 0) found.push(`${voucher}: nothing was killed beside the changes`);
  return found;
}
