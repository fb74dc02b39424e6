/**
 * What the stores have of the final rung, read when somebody asks for it. A store that does not
 * answer has no figures, and `lockstep_store_up` is 0.
 */
import { Gauge } from '@prometheus-io/client';
import { salePlaceOf, stockInRedis } from '../audit/collect.ts';
import type { Connections } from '../connections/connections.ts';
import { select } from '../connections/mysql.ts';
import { oldestOrderMs, recordsOrders, soon, takesPurchases } from '../connections/probes.ts';
import { openQueues } from '../ladder/open-rung.ts';
import { registers } from '../metrics/registry.ts';

/** The newest sales that run. */
const salesMax = 100;

type Read = () => Promise<number | null>;

interface GaugeName {
  readonly name: string;
  readonly help: string;
}

export function observeStores(connections: Connections): void {
  const [queue] = openQueues(['lua-stream'], connections);
  const of = (name: string, help: string, read: Read) => gauge({ name, help }, read);
  of('lockstep_queue_orders', 'Accepted orders that are not recorded', async () =>
    queue ? queue.depth() : null,
  );
  of('lockstep_orders_in_hand', 'Orders that an order worker was given, and has not settled', () =>
    queue?.inHand ? queue.inHand() : Promise.resolve(null),
  );
  of(
    'lockstep_oldest_order_seconds',
    'How long the oldest order waits; 0 when none does',
    async () => ((await oldestOrderMs(connections)) ?? 0) / 1_000,
  );
  of('lockstep_dead_letters', 'Orders that could not be recorded', () => deadLetters(connections));
  of('lockstep_voucher_changes_begun', 'Changes of operators that are not finished', () =>
    changesBegun(connections),
  );
  observeStoresUp(connections);
  gaugeOfVouchers(
    { name: 'lockstep_voucher_stock', help: 'What is left of each of the newest sales that run' },
    () => stocksOfRunning(connections),
  );
  gaugeOfVouchers(
    {
      name: 'lockstep_waiting_users',
      help: 'Places of the waiting room of each of the newest sales that were not called yet',
    },
    () => linesOfRunning(connections),
  );
}

/** Without a value while a store does not answer. */
function gauge({ name, help }: GaugeName, read: Read): void {
  new Gauge({
    name,
    help,
    registers,
    async collect() {
      const value = await soon(read()).catch(noValue);
      if (value === null) this.remove();
      else this.set(value);
    },
  });
}

/** A mistake of the program is no store that does not answer. */
function noValue(error: unknown): null {
  if (error instanceof TypeError) throw error;
  return null;
}

async function deadLetters(connections: Connections): Promise<number> {
  const redis = connections.redis('admin');
  const counts = connections.saleKeys.shards.map(({ dead }) => redis.xlen(dead));
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

async function changesBegun(connections: Connections): Promise<number> {
  const [row] = await select<{ count: number }>(
    connections.mysql(),
    "SELECT COUNT(*) AS count FROM voucher_changes WHERE state = 'begun'",
  );
  return Number(row?.count ?? 0);
}

function observeStoresUp(connections: Connections): void {
  new Gauge({
    name: 'lockstep_store_up',
    help: 'Whether a store takes what a purchase and an order worker write',
    registers,
    labelNames: ['store'],
    async collect() {
      const asked = [takesPurchases(connections), recordsOrders(connections)];
      const [redis, mysql] = await Promise.all(asked); // One that is away takes two seconds.
      this.set({ store: 'redis' }, redis ? 1 : 0);
      this.set({ store: 'mysql' }, mysql ? 1 : 0);
    },
  });
}

/** Of each voucher that `read` names; of none while a store does not answer. */
function gaugeOfVouchers(named: GaugeName, read: () => Promise<[string, number][]>): void {
  new Gauge({
    ...named,
    registers,
    labelNames: ['voucher'],
    async collect() {
      this.reset();
      const values = await soon(read()).catch(() => []);
      for (const [voucher, value] of values) this.set({ voucher }, value);
    },
  });
}

async function linesOfRunning(connections: Connections): Promise<[string, number][]> {
  const running = await select<{ id: string }>(
    connections.mysql(),
    `SELECT CAST(voucher_id AS CHAR) AS id FROM voucher_waiting_rooms
     JOIN vouchers v ON v.id = voucher_id
     WHERE v.end_time > ? ORDER BY v.id DESC LIMIT ${salesMax}`,
    [new Date()],
  );
  const waiting = running.map(async ({ id }): Promise<[string, number]> => {
    const line = connections.saleKeys.of(id).room(id);
    const [last, called] = await connections.redis('admin').hmget(line, 'last', 'called');
    return [id, Number(last) - Number(called)];
  });
  return Promise.all(waiting);
}

async function stocksOfRunning(connections: Connections): Promise<[string, number][]> {
  const now = new Date();
  const running = await select<{ id: string }>(
    connections.mysql(),
    `SELECT CAST(id AS CHAR) AS id FROM vouchers
     WHERE begin_time <= ? AND end_time > ? ORDER BY id DESC LIMIT ${salesMax}`,
    [now, now],
  );
  const stocks = running.map(async ({ id }): Promise<[string, number][]> => {
    const place = await salePlaceOf(connections, id);
    const stock = place && (await stockInRedis(connections.redis('admin'), place));
    return stock === null ? [] : [[id, stock]];
  });
  return (await Promise.all(stocks)).flat();
}
