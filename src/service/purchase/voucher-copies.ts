/**
 * A copy of each voucher in Redis: while MySQL is away, an instance that has just started sells it
 * all the same. MySQL is asked first, since it alone knows which vouchers were created.
 */
import type { Connections } from '../connections/connections.ts';
import { keptAfterEndMs, type Voucher } from '../domain.ts';

export class VoucherCopies {
  readonly #connections: Connections;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  /** May fail: without its copy, the voucher is sold only while MySQL answers. */
  async write(voucher: Voucher): Promise<void> {
    const leftMs = voucher.endTime.getTime() + keptAfterEndMs - Date.now();
    if (leftMs <= 0) return;
    const redis = this.#connections.redis('admin');
    await redis.set(this.#key(voucher.id), JSON.stringify(voucher), 'PX', leftMs).catch(() => {});
  }

  /** Undefined also when Redis does not answer. */
  async read(id: string): Promise<Voucher | undefined> {
    const redis = this.#connections.redis('admin');
    const text = await redis.get(this.#key(id)).catch(() => null);
    if (text === null) return undefined;
    const copy = JSON.parse(text) as Omit<Voucher, 'beginTime' | 'endTime'> &
      Readonly<Record<'beginTime' | 'endTime', string>>;
    return { ...copy, beginTime: new Date(copy.beginTime), endTime: new Date(copy.endTime) };
  }

  #key(id: string): string {
    return this.#connections.saleKeys.of(id).about(id);
  }
}
