/** A sale of four vouchers of the final rung, in the test's own process, on one shard or more. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { audit } from '../../src/service/audit/audit.ts';
import type { Attempt } from '../../src/service/audit/facts.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import type { Order, Outcome, Voucher } from '../../src/service/domain.ts';
import { type OpenRung, openRung } from '../../src/service/ladder/open-rung.ts';
import { findOrder } from '../../src/service/orders/find-order.ts';
import { testConnections } from '../support/connections.ts';
import {
  factsOf,
  onSale,
  openStreamQueue,
  someOrder,
  startWorker as workOn,
} from '../support/sale.ts';

export type Settings = Readonly<Record<string, string>>;

export interface Sale extends OpenRung {
  readonly connections: Connections;
  readonly vouchers: readonly Voucher[];
  /** What the clients were answered. */
  readonly attempts: readonly (Attempt & Pick<Order, 'voucherId'>)[];
  buy(voucher: Voucher, userId: string, requestId?: string): Promise<Outcome>;
}

/** Four vouchers with ids in a row: with four shards, each is in another one. */
export async function startSale(settings: Settings, stock: number): Promise<Sale> {
  const connections = testConnections(settings);
  const rung = await openRung('lua-stream', connections);
  connections.redis('admin');
  await connections.ready();
  for (const { orders, queued } of connections.saleKeys.shards)
    await connections.redis('admin').del(orders, queued);
  const vouchers: Voucher[] = [];
  while (vouchers.length < 4) vouchers.push(await onSale(connections, stock));
  const attempts: (Attempt & Pick<Order, 'voucherId'>)[] = [];
  const buy = async (voucher: Voucher, userId: string, requestId?: string) => {
    const order = someOrder(voucher.id, userId, requestId);
    const startedAt = performance.now();
    const outcome = await rung.purchase(order, voucher);
    attempts.push(attempt(order, outcome, performance.now() - startedAt));
    return outcome;
  };
  return { ...rung, connections, vouchers, attempts, buy };
}

function attempt({ voucherId, userId, requestId }: Order, outcome: Outcome, latencyMs: number) {
  const { kind, orderId } = outcome;
  return {
    ...{ voucherId, userId, requestId, outcome: kind, latencyMs },
    ...(outcome.kind === 'refused' && { reason: outcome.reason }),
    ...(orderId !== undefined && { orderId }),
  };
}

export const acceptedOf = ({ attempts }: Sale, voucher: Voucher) =>
  attempts.filter(({ voucherId, outcome }) => voucherId === voucher.id && outcome === 'accepted');

/** A worker with its own connections, until the test is over. @returns its end. */
export function startWorker(settings: Settings): () => Promise<void> {
  const end = workOn(testConnections(settings));
  onTestFinished(end);
  return end;
}

export const untilDrained = (connections: Connections) =>
  waitUntil(
    'every shard to be drained',
    20_000,
    async () => (await openStreamQueue(connections).depth()) === 0,
  );

/** Everything accepted is in MySQL, and nothing else. */
export async function expectRecorded(sale: Sale): Promise<void> {
  const { connections, vouchers, attempts } = sale;
  for (const voucher of vouchers) {
    for (const { orderId = '', userId } of acceptedOf(sale, voucher))
      expect(await findOrder(connections, orderId)).toEqual({
        ...{ id: orderId, voucherId: voucher.id, userId, status: 'confirmed' },
      });
    const facts = await factsOf(connections, voucher.id);
    const own = attempts.filter(({ voucherId }) => voucherId === voucher.id);
    expect(audit({ ...facts, attempts: own })).toMatchObject({ verdict: 'held' });
  }
}

/** With one request, which is repeated until its outcome is known, or until `giveUp` aborts. */
export async function buyUntilKnown(
  { buy }: Sale,
  voucher: Voucher,
  userId: string,
  giveUp?: AbortSignal,
): Promise<void> {
  const requestId = randomUUID();
  const isKnown = (outcome: Outcome) =>
    outcome.kind === 'accepted' || (outcome.kind === 'refused' && outcome.reason !== 'not-ready');
  while (!giveUp?.aborted && !isKnown(await buy(voucher, userId, requestId))) await sleep(200);
}
