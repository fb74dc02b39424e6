/** From a row of the ladder to its opened parts, once for each rung that an instance really sells with. */
import type { Connections } from '../connections/connections.ts';
import type { Voucher } from '../domain.ts';
import type { Inventory } from '../inventory/inventory.ts';
import { rungNamed } from '../ladder.ts';
import type { Lock } from '../locks/lock.ts';
import { open as openNone } from '../locks/none.ts';
import { inHistory } from './lease-history.ts';
import { type Purchase, purchaseWith } from './purchase.ts';

export interface OpenRung {
  readonly lock: Lock;
  readonly inventory: Inventory;
  readonly purchase: Purchase;
}

export type OpenRungs = (voucher: Pick<Voucher, 'rung'>) => Promise<OpenRung>;

export function openRungs(connections: Connections, onReleaseFailed: (error: unknown) => void): OpenRungs {
  const opened = new Map<string, Promise<OpenRung>>();

  async function open(name: string): Promise<OpenRung> {
    const rung = rungNamed(name);
    const [lockModule, inventoryModule] = await Promise.all([rung.lock(), rung.inventory()]);
    const opened = lockModule.open(connections);
    const lock = rung.locked ? inHistory(opened) : opened;
    const inventory = inventoryModule.open(connections, lock);
    const outside = rung.lockInside ? openNone() : lock;
    await connections.ready();
    const waitMs = connections.config.LOCK_WAIT_MS;
    return {
      lock,
      inventory,
      purchase: purchaseWith({ lock: outside, scope: rung.scope, waitMs, inventory, onReleaseFailed }),
    };
  }

  return ({ rung }) => {
    const known = opened.get(rung);
    if (known) return known;
    const opening = open(rung);
    opened.set(rung, opening);
    opening.catch(() => opened.delete(rung)); // What could not be opened is tried again.
    return opening;
  };
}
