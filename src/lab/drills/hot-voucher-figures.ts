/** What the end of stock of a voucher in buckets cost, and the verdict from it. Pure. */
import type { Facts } from '../../service/audit/facts.ts';
import type { StockOfBuckets } from '../../service/inventory/shared/bucket-stock.ts';
import type { Judged } from '../stage/result.ts';
import type { Purchase, Try } from '../workload/steady-purchases.ts';
import { auditAll } from './audited.ts';
import { judgeUnderFire, stormFigures } from './storm-figures.ts';
import { answeredAt, hasSaleSince } from './try-times.ts';

export interface HotSale {
  readonly purchases: readonly Purchase[];
  readonly tries: readonly Try[];
  /** With the tries as attempts. */
  readonly facts: Facts;
  /** What its buckets had when all was drained. */
  readonly end: StockOfBuckets;
  /** How many users each bucket had. */
  readonly demands: readonly number[];
  /** Whether a transfer was half-way when the instances were killed. */
  readonly isCut: boolean;
  readonly kills: number;
}

export function judgeHotVoucher(sales: readonly HotSale[]): Judged {
  const facts = sales.map((sale) => sale.facts);
  const audits = auditAll(facts);
  const storm = stormFigures(
    sales.flatMap((sale) => sale.purchases),
    sales.flatMap((sale) => sale.tries),
    facts,
  );
  const figures = { ...storm, ...bucketFigures(sales) };
  const wrong = { broken: bucketViolations(figures), missing: missing(sales) };
  return {
    ...judgeUnderFire(storm, audits, wrong),
    figures,
    faults: { 'kill instance': sum(sales, ({ kills }) => kills) },
  };
}

/** What a run of stock ended with. */
export type EndOfStock = Pick<HotSale, 'tries' | 'facts' | 'end' | 'demands'>;

export interface EndFigures {
  readonly oversold: number;
  /** Units that were not sold, by Redis or by MySQL, and a user was told "sold out". */
  readonly stranded: number;
  /** Answers "sold out" although a purchase that was sent later was sold. */
  readonly soldOutWrongly: number;
  /** Answers `not-ready`: stock moved, or the service was away. Their clients tried again. */
  readonly askedToRetry: number;
  readonly transfers: number;
  /** What the same users would have left in the buckets, if no bucket lent. */
  readonly strandedWithoutLending: number;
}

export interface BucketFigures extends EndFigures {
  readonly transfersCut: number;
}

export const bucketFigures = (sales: readonly HotSale[]): BucketFigures => ({
  ...endFigures(sales),
  transfersCut: sales.filter(({ isCut }) => isCut).length,
});

export function endFigures(sales: readonly EndOfStock[]): EndFigures {
  return {
    oversold: sum(sales, ({ facts }) => Math.max(0, -facts.mysql.stock)),
    stranded: sum(sales, stranded),
    soldOutWrongly: sum(sales, ({ tries }) => soldOutWrongly(tries)),
    askedToRetry: sum(sales, ({ tries }) => tries.filter(isFor('not-ready')).length),
    transfers: sum(sales, ({ end }) => end.transfers),
    strandedWithoutLending: sum(sales, strandedWithoutLending),
  };
}

const sum = <T>(all: readonly T[], of: (each: T) => number): number =>
  all.reduce((total, each) => total + of(each), 0);

const isFor =
  (reason: string) =>
  (each: Try): boolean =>
    each.reason === reason;

/** Redis may not know of units that it lost, and MySQL has every unit that nobody bought. */
const stranded = ({ tries, end, facts }: EndOfStock): number =>
  Math.min(Math.max(end.stock ?? 0, facts.mysql.stock), tries.filter(isFor('sold-out')).length);

const soldOutWrongly = (tries: readonly Try[]): number =>
  tries.filter((each) => isFor('sold-out')(each) && hasSaleSince(tries, answeredAt(each))).length;

function strandedWithoutLending({ facts, demands }: EndOfStock): number {
  const share = facts.initialStock / demands.length;
  return Math.round(sum(demands, (demand) => Math.max(0, share - demand)));
}

function bucketViolations({ oversold, stranded: left, soldOutWrongly: wrong }: BucketFigures) {
  const found: string[] = [];
  if (oversold > 0) found.push(`${oversold} units were sold that did not exist`);
  if (left > 0) found.push(`${left} units were stranded, and users were told "sold out"`);
  if (wrong > 0) found.push(`${wrong} users were told "sold out" while a bucket had some`);
  return found;
}

/** Without these, nothing could have gone wrong. */
function missing(sales: readonly HotSale[]): string[] {
  const uncut = sales.filter(({ isCut }) => !isCut).length;
  const unsold = sales.filter(({ tries }) => !tries.some(isFor('sold-out'))).length;
  const found: string[] = [];
  if (uncut > 0) found.push(`in ${uncut} sales no transfer was cut`);
  if (unsold > 0) found.push(`${unsold} vouchers did not sell out`);
  return found;
}
