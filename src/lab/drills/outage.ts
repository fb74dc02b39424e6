/**
 * Outages, one after the other, while `lua-stream` sells through nginx: each is played, and
 * watched until all is as before. A drill has a row for each outage: what happens, and how it must
 * look (`expectations.ts`).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isServiceError } from '../../service/errors.ts';
import { findRecorded } from '../../service/orders/record-orders.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { isInTime } from '../environment/wait-until.ts';
import type { Fault, Undo } from '../faults/fault.ts';
import type { Stage } from '../stage/stage.ts';
import { planPurchases, type Try } from '../workload/steady-purchases.ts';
import { endedProcesses } from './ended-processes.ts';
import type { Expected, Look, Played, Seen, Timeline } from './expectations.ts';
import { hasSaleSince, isSale, now, salesSince, sentBetween } from './try-times.ts';

export const outageRung = 'lua-stream';
const perSecond = 40;
const calmMs = 1_000;
/** Longer than any limit, so that the verdict says how late it was. */
const waitMs = 30_000;
/** More than any outage with its waits. */
const longestSeconds = 150;
const everyMs = 100;
const answerWithinMs = 3_000;

/** What an outage needs of the drill. */
export interface Scene {
  readonly stage: Stage;
  /** Accepted purchases that were sent since then. */
  readonly soldSince: (since: bigint) => number;
  /** The orders that are accepted and not recorded. */
  readonly waiting: () => Promise<number>;
}

export interface Mended extends Pick<Timeline, 'mendedAt'> {
  /** What is mended once it sells and records again. */
  readonly later?: () => Promise<void>;
}

export interface Outage extends Expected {
  readonly play: (scene: Scene) => Promise<Mended>;
}

interface OutageLoad {
  readonly shape: ServiceShape;
  readonly title: string;
  readonly seed: number;
}

/** Steady purchases of one voucher through all of the outages. */
export async function playOutages<Row extends Outage>(
  stage: Stage,
  rows: readonly Row[],
  { shape, title, seed }: OutageLoad,
): Promise<Played<Row>> {
  await stage.serve(shape);
  const users = rows.length * longestSeconds * perSecond;
  const voucherId = await stage.putOnSale({ title, stock: users, rung: outageRung });
  const purchases = planPurchases(voucherId, users, seed);
  const watch = watchFor(stage);
  try {
    const played = await stage.during({ name: outageRung, perSecond, purchases }, (tries) =>
      playInOrder(rows, (row) => playOne(stage, row, tries, watch)),
    );
    await stage.lab.heal();
    return { ...played, facts: await stage.facts(voucherId) };
  } finally {
    await watch.end();
  }
}

/** These faults for so long, and none of them afterwards. */
export const broken =
  (forMs: number, ...faults: readonly Fault[]) =>
  async ({ stage }: Scene): Promise<Mended> => {
    const undos: Undo[] = [];
    for (const fault of faults) undos.unshift(await stage.inject(fault));
    await stage.rest(forMs);
    for (const undo of undos) await undo();
    return { mendedAt: now() };
  };

/** Something that an outage waits for, such as a promotion, may never happen. */
export async function playInOrder<Row extends Expected>(
  rows: readonly Row[],
  play: (row: Row) => Promise<Seen<Row>>,
): Promise<Omit<Played<Row>, 'facts'>> {
  const seen: Seen<Row>[] = [];
  for (const row of rows) {
    try {
      seen.push(await play(row));
    } catch (error) {
      if (!isServiceError(error, 'DEADLINE_PASSED')) throw error;
      return { seen, unfinished: [`${row.name}: ${error.message}`] };
    }
  }
  return { seen, unfinished: [] };
}

async function playOne<Row extends Outage>(
  stage: Stage,
  row: Row,
  tries: readonly Try[],
  { looks, waits }: Watch,
): Promise<Seen<Row>> {
  const ended = endedProcesses(stage.lab).length;
  const isInTimeFor = (what: string, condition: () => boolean | Promise<boolean>) =>
    isInTime(stage.until(what, waitMs, condition));
  const started = now();
  await stage.until('a sale', waitMs, () => hasSaleSince(tries, started));
  const calmFrom = now();
  await stage.rest(calmMs);
  const brokenAt = now();
  const soldSince = (since: bigint) => salesSince(tries, since).length;
  const waiting = () => waitingOrders(stage);
  const { mendedAt, later } = await row.play({ stage, soldSince, waiting });
  const recorded = await whenRecorded(stage, tries, brokenAt, mendedAt);
  await isInTimeFor('a sale', () => hasSaleSince(tries, mendedAt));
  await later?.();
  await stage.rest(calmMs);
  await isInTimeFor('the service to be ready', () => looks.at(-1)?.isReady === true);
  const until = now();
  return {
    ...{ row, calmFrom, brokenAt, mendedAt, ...recorded, until, tries: [...tries] },
    looks: looks.filter(({ at }) => at >= brokenAt && at < until),
    waitingMost: Math.max(
      ...waits.filter(({ at }) => at >= brokenAt && at < mendedAt).map(({ count }) => count),
      0,
    ),
    exitCodes: endedProcesses(stage.lab).slice(ended),
  };
}

async function waitingOrders({ connections }: Stage): Promise<number> {
  const [shard] = connections.saleKeys.shards;
  return connections.redis('admin').hlen(shard?.queued ?? '');
}

interface Watch {
  readonly looks: readonly Look[];
  readonly waits: readonly { readonly at: bigint; readonly count: number }[];
  readonly end: () => Promise<void>;
}

/** Until `end`: what GET /readyz of an instance says, past nginx, and how many orders wait. */
function watchFor(stage: Stage): Watch {
  const over = new AbortController();
  const url = `http://127.0.0.1:${stage.lab.portOf('api-1')}/readyz`;
  const again = async <T>(look: () => Promise<T>, looks: (T & { at: bigint })[]) => {
    while (!over.signal.aborted) {
      const seen = await look();
      looks.push({ ...seen, at: now() });
      await sleep(everyMs, undefined, { signal: over.signal }).catch(() => {});
    }
  };
  const looks: Look[] = [];
  const waits: { at: bigint; count: number }[] = [];
  const watching = [
    again(() => readiness(url), looks),
    again(async () => ({ count: await waitingOrders(stage).catch(() => 0) }), waits),
  ];
  const end = async () => {
    over.abort();
    await Promise.all(watching);
  };
  return { looks, waits, end };
}

const readiness = (url: string): Promise<Omit<Look, 'at'>> =>
  fetch(url, { signal: AbortSignal.timeout(answerWithinMs) })
    .then(async (answer) => ({ isReady: answer.ok, body: await answer.text() }))
    .catch((error: unknown) => ({ isReady: false, body: String(error) }));

/** When MySQL has every order of the outage, and when the first that was sent after it. */
async function whenRecorded(
  stage: Stage,
  tries: readonly Try[],
  brokenAt: bigint,
  mendedAt: bigint,
): Promise<Pick<Timeline, 'recordedAt' | 'nextRecordedAt'>> {
  const count = async (sales: readonly Try[]) => {
    const orders = sales.map(({ orderId: id = '', ...sale }) => ({ ...sale, id }));
    return (await findRecorded(stage.connections.mysql(), orders)).size;
  };
  const areAll = async () => {
    const sales = sentBetween(tries, brokenAt, mendedAt).filter(isSale);
    return (await count(sales)) === sales.length;
  };
  const isOne = async () => (await count(salesSince(tries, mendedAt).slice(0, perSecond))) > 0;
  const when = async (condition: () => Promise<boolean>) =>
    (await isInTime(stage.until('orders to be recorded', waitMs, condition, 50))) ? now() : null;
  const [recordedAt, nextRecordedAt] = await Promise.all([when(areAll), when(isOne)]);
  return { recordedAt, nextRecordedAt };
}
