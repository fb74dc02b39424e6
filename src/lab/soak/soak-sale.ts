/**
 * The rush of a soak: purchases without end. One voucher always has stock, and is replaced by the
 * next before it is sold out. Now and then a short one is sold out in a moment.
 */
import type { Purchase } from '../workload/steady-purchases.ts';

/** More than users buy until the next voucher comes. */
const plentyStock = 10_000;
const replacedAfter = 4_000;
export const shortStock = 25;

interface OnSale {
  readonly voucherId: string;
  users: number;
}

export class SoakSale {
  /** Every purchase that was planned, once. */
  readonly purchases: Purchase[] = [];
  readonly #seed: number;
  /** Puts a voucher with so much stock on sale. @returns its id. */
  readonly #create: (stock: number) => Promise<string>;
  /** Sent before any other. */
  readonly #again: Purchase[] = [];
  #plenty: OnSale | undefined;
  #short: OnSale | undefined;
  #isOver = false;

  constructor(seed: number, create: (stock: number) => Promise<string>) {
    this.#seed = seed;
    this.#create = create;
  }

  /** @returns the voucher that has stock. */
  async offerPlenty(): Promise<string> {
    if (!this.#plenty || this.#plenty.users > replacedAfter)
      this.#plenty = { voucherId: await this.#create(plentyStock), users: 0 };
    return this.#plenty.voucherId;
  }

  /** @returns a voucher that every second purchase is of, until `endShort`. */
  async offerShort(): Promise<string> {
    this.#short = { voucherId: await this.#create(shortStock), users: 0 };
    return this.#short.voucherId;
  }

  endShort(): void {
    this.#short = undefined;
  }

  /** The purchase of a user who has not bought this voucher yet. */
  plan(voucherId: string, requestId?: string): Purchase {
    const onSale = [this.#plenty, this.#short].find((each) => each?.voucherId === voucherId);
    const userId = String(onSale ? ++onSale.users : 0);
    const own = `soak-${this.#seed}-${voucherId}-${userId}`;
    const purchase = { voucherId, userId, requestId: requestId ?? own };
    this.purchases.push(purchase);
    return purchase;
  }

  /** Without a final answer: the load sends it until it has one. */
  repeat(purchase: Purchase): void {
    this.#again.push(purchase);
  }

  /** No more purchases but those that are repeated. */
  end(): void {
    this.#isOver = true;
  }

  *[Symbol.iterator](): Generator<Purchase> {
    for (let count = 0; !this.#isOver || this.#again.length > 0; count++)
      yield this.#again.shift() ?? this.#next(count);
  }

  /** Every tenth user buys twice, and every tenth one sends one request three times at once. */
  #next(count: number): Purchase {
    const onSale = count % 2 === 0 && this.#short ? this.#short : this.#plenty;
    const purchase = this.plan(onSale?.voucherId ?? '');
    const digit = Number(purchase.userId) % 10;
    if (digit === 0) {
      const second = { ...purchase, requestId: `${purchase.requestId}-2` };
      this.purchases.push(second);
      this.#again.push(second);
    }
    if (digit === 5) this.#again.push(purchase, purchase);
    return purchase;
  }
}
