/** A steady sale of one voucher, while something else is done to the lab. */
import type { Lab } from '../environment/lab.ts';
import { putOnSale } from '../workload/create-voucher.ts';
import { type Purchase, planPurchases, type Try } from '../workload/steady-purchases.ts';
import type { DrillOptions } from './drill.ts';
import { buyRecorded } from './recorded.ts';

export interface SteadySale {
  readonly rung: string;
  readonly title: string;
  readonly purchasesPerSecond: number;
  /** As many users, and as much stock, as the sale may need. */
  readonly users: number;
  /** Every tenth user sends a second purchase, unless this is true. */
  readonly onePurchaseEach?: boolean;
}

export interface Sold<T> {
  readonly voucherId: string;
  readonly tries: readonly Try[];
  /** What the work returned. */
  readonly result: T;
}

/** Sells while `work` runs. Its argument grows with each answer. */
export async function duringSale<T>(
  lab: Lab,
  { rung, title, purchasesPerSecond, users, onePurchaseEach = false }: SteadySale,
  { seed, recorder }: Pick<DrillOptions, 'seed' | 'recorder'>,
  work: (tries: readonly Try[], voucherId: string) => Promise<T>,
): Promise<Sold<T>> {
  const { baseUrl } = lab;
  const tokenSecret = lab.tokenSecret;
  const sale = { title, stock: users, rung };
  const voucherId = await putOnSale(baseUrl, tokenSecret, lab.shape.instances, sale);
  const giveUp = new AbortController();
  const tries: Try[] = [];
  const onTry = (attempt: Try) => void tries.push(attempt);
  const load = { baseUrl, tokenSecret, purchasesPerSecond, giveUp: giveUp.signal, onTry };
  const plan = planPurchases(voucherId, users, seed);
  const purchases = onePurchaseEach ? [...firstOfEach(plan)] : plan;
  const buying = buyRecorded(rung, purchases, load, recorder);
  try {
    const result = await work(tries, voucherId);
    giveUp.abort();
    await buying;
    return { voucherId, tries, result };
  } finally {
    giveUp.abort();
    await Promise.allSettled([buying]);
  }
}

const firstOfEach = (plan: readonly Purchase[]): Iterable<Purchase> =>
  new Map(plan.toReversed().map((each) => [each.userId, each])).values();
