/**
 * The rungs that keep MySQL the only store, killed in the middle of their transactions: nothing is
 * sold twice, and every accepted order is in MySQL.
 */
import { expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { drained } from '../../src/lab/workload/drained.ts';
import {
  buySteadily,
  planPurchases,
  type Try,
  unresolved,
} from '../../src/lab/workload/steady-purchases.ts';
import { audit } from '../../src/service/audit/audit.ts';
import { readHistory } from '../../src/service/audit/read-history.ts';
import { labTokenSecret } from '../../src/service/config.ts';
import type { HistoryEvent } from '../../src/service/trace/history.ts';
import { putOnSale } from '../support/client.ts';
import { readyConnections } from '../support/connections.ts';
import { theLab } from '../support/own-lab.ts';

const lab = theLab();
const [users, stock] = [80, 60];

/** The first order whose transaction is open: after its check and before its writes. */
async function firstInside(voucherId: string): Promise<HistoryEvent> {
  let found: HistoryEvent | undefined;
  await waitUntil(
    'an open transaction',
    20_000,
    () => {
      const { history = [] } = readHistory(lab().historyFolder, voucherId);
      found = history.find(({ checkpoint }) => checkpoint === 'after-check');
      return found !== undefined;
    },
    5,
  );
  return found as HistoryEvent;
}

/**
 * Every user buys, `fault` strikes inside the first transaction, and every client asks until it has
 * a final answer.
 */
async function sellThrough(rung: string, fault: (inside: HistoryEvent) => Promise<unknown>) {
  const voucherId = await voucherOn(rung);
  return sellDuring(voucherId, async () => fault(await firstInside(voucherId)));
}

const voucherOn = (rung: string): Promise<string> =>
  putOnSale({ rung, stock, lab: { workMs: 400, retries: 20 } });

async function sellDuring(
  voucherId: string,
  happens: (firstAnswer: Promise<void>) => Promise<unknown>,
) {
  const plan = planPurchases(voucherId, users, 11);
  const firstAnswer = Promise.withResolvers<void>();
  const giveUp = AbortSignal.timeout(40_000);
  const onTry = () => firstAnswer.resolve();
  const load = { baseUrl: lab().baseUrl, tokenSecret: labTokenSecret, giveUp, onTry };
  const buying = buySteadily(plan, { ...load, purchasesPerSecond: 1_000, clients: 90 });
  await happens(firstAnswer.promise);
  const tries = await buying;
  const collected = await drained(await readyConnections(), voucherId);
  const history = readHistory(lab().historyFolder, voucherId);
  const facts = { ...collected, attempts: tries, ...history };
  const { findings } = audit(facts);
  const notHeld = findings.filter(({ verdict }) => verdict !== 'held');
  return { tries, facts, notHeld, open: unresolved(plan, tries) };
}

/** nginx asks another instance for a request that one refused as not ready. */
const isReceived = ({ event }: HistoryEvent) => event === 'received';
const isUnknown = ({ outcome }: Try) => outcome === 'unknown';
const database = () =>
  lab().servers.find(({ name }) => ['mariadb', 'mysql'].includes(name))?.name ?? '';

const kills = {
  'an instance': async ({ instance }: HistoryEvent) => {
    process.kill(lab().pidOf(instance), 'SIGKILL');
  },
  'the database': async () => {
    await lab().server(database()).kill();
    await lab().server(database()).start();
  },
};

test.each([
  ['merged-commit', 'an instance'],
  ['merged-commit', 'the database'],
  ['unit-rows', 'an instance'],
  ['unit-rows', 'the database'],
] as const)('%s sells exactly through kill -9 of %s', async (rung, victim) => {
  const { tries, facts, notHeld, open } = await sellThrough(rung, kills[victim]);
  const askedAnother = Math.max(0, facts.history.filter(isReceived).length - tries.length);
  const hit = tries.filter((each) => isUnknown(each) || isRefusedForNow(each));
  expect(hit.length + askedAnother).toBeGreaterThan(0);
  expect(notHeld).toEqual([]);
  expect(open).toEqual([]);
  const { orders } = facts.mysql;
  // A client of unit-rows gives up after a conflict, and then a unit may be left.
  if (rung === 'merged-commit') expect(orders).toHaveLength(stock);
  else expect(orders.length).toBeGreaterThan(stock / 2);
});

/** The store was away: the client tried again. */
const isRefusedForNow = ({ reason = '' }: Try) => ['not-ready', 'database-busy'].includes(reason);

test('a voucher that no instance could read yet is sold once the database is back', async () => {
  const voucherId = await voucherOn('unit-rows');
  const connections = await readyConnections();
  const copy = connections.saleKeys.of(voucherId).about(voucherId);
  await connections.redis('admin').del(copy); // No instance can read it there.
  const store = lab().server(database());
  await store.kill();
  const { tries, facts, notHeld, open } = await sellDuring(voucherId, async (firstAnswer) => {
    await firstAnswer;
    await store.start();
  });
  const received = facts.history.filter(isReceived);
  expect(tries.length - received.length).toBeGreaterThan(0); // So many came before it was read.
  expect(notHeld).toEqual([]);
  expect(open).toEqual([]);
});

test('an instance that is told to stop finishes the batch that it has gathered', async () => {
  let stopped: HistoryEvent | undefined;
  const { facts, notHeld } = await sellThrough('merged-commit', async (inside) => {
    stopped = inside;
    process.kill(lab().pidOf(inside.instance), 'SIGTERM');
  });
  expect(notHeld).toEqual([]);
  const { history = [], attempts = [] } = facts;
  const gathered = history.filter(
    ({ checkpoint, instance }) => checkpoint === 'after-check' && instance === stopped?.instance,
  );
  const accepted = new Set(
    attempts.flatMap(({ outcome, orderId }) => (outcome === 'accepted' ? [orderId] : [])),
  );
  expect(gathered.length).toBeGreaterThan(0);
  expect(gathered.filter(({ orderId }) => !accepted.has(orderId))).toEqual([]);
});
