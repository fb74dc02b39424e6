/**
 * Outages, one after the other, while a rung sells: each is played, and watched until all is as
 * before. A drill has a row for each outage: what happens, and how it must look
 * (`expectations.ts`).
 */

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isServiceError } from '../../service/errors.ts';
import type { RungName } from '../../service/ladder/rungs.ts';
import { findRecorded } from '../../service/orders/record-orders.ts';
import type { Lab } from '../environment/lab.ts';
import { isInTime } from '../environment/wait-until.ts';
import type { Fault, Undo } from '../faults/fault.ts';
import { ofName } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import { planPurchases, type Try } from '../workload/steady-purchases.ts';
import type { ExpectedOutage, Look, PlayedOutages, SeenOutage, Timeline } from './expectations.ts';
import { isSale, now, salesSince, sentBetween } from './try-times.ts';

export const outageRung = 'lua-stream';
/** Longer than any limit, so that the verdict says how late it was. */
const waitMs = 30_000;
const everyMs = 100;
const answerWithinMs = 3_000;

/** What an outage needs of the drill. */
export interface Scene {
  readonly stage: Stage;
  readonly voucherId: string;
  /** Accepted purchases that were sent since then. */
  readonly soldSince: (since: bigint) => number;
  /** The orders that are accepted and not recorded. */
  readonly waiting: () => Promise<number>;
}

export interface MendedOutage
  extends Pick<Timeline, 'mendedAt'>,
    Partial<Pick<Timeline, 'brokenAt' | 'downFrom' | 'downUntil' | 'atRisk'>> {
  /** What is mended, or looked for, once it sells and records again. */
  readonly later?: () => Promise<Partial<Pick<Timeline, 'leftLocks'>> | undefined>;
}

export interface Outage extends ExpectedOutage {
  readonly play: (scene: Scene) => Promise<MendedOutage>;
}

interface OutageLoad {
  readonly title: string;
  readonly seed: number;
  readonly rung?: RungName;
  /** Before each outage, and after it. */
  readonly calmMs?: number;
  /** Of the longest outage with its calms. */
  readonly forMs: number;
  readonly perSecond?: number;
  /** Less than its users want, where it is to sell out. */
  readonly stock?: number;
  /** What so many users send. */
  readonly plan?: typeof planPurchases;
}

/** Steady purchases of one voucher through all of the outages. The service has its shape. */
export async function playOutages<Row extends Outage>(
  stage: Stage,
  rows: readonly Row[],
  load: OutageLoad,
): Promise<PlayedOutages<Row>> {
  const { title, seed, rung = outageRung, calmMs = 1_000, perSecond = 40 } = load;
  const users = Math.ceil((rows.length * (load.forMs + 4 * waitMs) * perSecond) / 1_000);
  const voucherId = await stage.putOnSale({ title, stock: load.stock ?? users, rung });
  const purchases = (load.plan ?? planPurchases)(voucherId, users, seed);
  const watch = watchFor(stage);
  try {
    const played = await stage.during({ name: rung, perSecond, purchases }, (tries) =>
      playInOrder(rows, (row) => playOne(stage, row, { voucherId, calmMs, tries, ...watch })),
    );
    await stage.lab.heal();
    return { ...played, facts: await stage.facts(voucherId) };
  } finally {
    await watch.end();
  }
}

/** These faults for so long, and none of them afterwards. */
export const brokenFor =
  (forMs: number, ...faults: readonly Fault[]) =>
  async ({ stage }: Scene): Promise<MendedOutage> => {
    const undos: Undo[] = [];
    for (const fault of faults) undos.unshift(await stage.inject(fault));
    const downFrom = now();
    await stage.rest(forMs);
    const downUntil = now();
    for (const undo of undos) await undo();
    return { downFrom, downUntil, mendedAt: now() };
  };

/** Something that an outage waits for, such as a promotion, may never happen. */
export async function playInOrder<Row extends ExpectedOutage>(
  rows: readonly Row[],
  play: (row: Row) => Promise<SeenOutage<Row>>,
): Promise<Omit<PlayedOutages<Row>, 'facts'>> {
  const seen: SeenOutage<Row>[] = [];
  for (const row of rows) {
    try {
      seen.push(await play(row));
    } catch (error) {
      if (!isServiceError(error, 'DEADLINE_PASSED')) throw error;
      return { seen, unfinished: [ofName(row.name, error.message)] };
    }
  }
  return { seen, unfinished: [] };
}

interface Load extends Watch {
  readonly voucherId: string;
  readonly calmMs: number;
  readonly tries: readonly Try[];
}

async function playOne<Row extends Outage>(
  stage: Stage,
  row: Row,
  { voucherId, calmMs, tries, looks, waits }: Load,
): Promise<SeenOutage<Row>> {
  const ended = endedProcesses(stage.lab).length;
  const isInTimeFor = (what: string, condition: () => boolean | Promise<boolean>) =>
    isInTime(stage.until(what, waitMs, condition));
  const soldSince = (since: bigint) => salesSince(tries, since).length;
  const waiting = () => waitingOrders(stage);
  const started = now();
  await stage.until('a sale', waitMs, () => soldSince(started) > 0);
  const calmFrom = now();
  await stage.rest(calmMs);
  const brokenAt = now();
  const { later, ...mended } = await row.play({ stage, voucherId, soldSince, waiting });
  const { mendedAt } = mended;
  const recorded = row.loses ? notLooked : await whenRecorded(stage, tries, brokenAt, mendedAt);
  await isInTimeFor('a sale', () => soldSince(mendedAt) > 0);
  const found = await later?.();
  await stage.rest(calmMs);
  await isInTimeFor('the service to be ready', () => looks.at(-1)?.isReady === true);
  const until = now();
  const waited = waits.filter(({ at }) => at >= brokenAt && at < mendedAt);
  return {
    row,
    calmFrom,
    brokenAt,
    downFrom: brokenAt,
    downUntil: mendedAt,
    ...mended,
    ...recorded,
    until,
    tries: [...tries],
    leftLocks: null,
    ...found,
    looks: looks.filter(({ at }) => at >= brokenAt && at < until),
    waitingMost: Math.max(0, ...waited.map(({ count }) => count)),
    exitCodes: endedProcesses(stage.lab).slice(ended),
  };
}

const notLooked = { recordedAt: null, nextRecordedAt: null };

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

/** Of the orders after an outage, those that are looked for. */
const firstMax = 40;

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
  const isOne = async () => (await count(salesSince(tries, mendedAt).slice(0, firstMax))) > 0;
  const when = async (condition: () => Promise<boolean>) =>
    (await isInTime(stage.until('orders to be recorded', waitMs, condition, 50))) ? now() : null;
  const [recordedAt, nextRecordedAt] = await Promise.all([when(areAll), when(isOne)]);
  return { recordedAt, nextRecordedAt };
}

/** Of the processes that were replaced: the exit codes, in order; null for a signal. */
function endedProcesses(lab: Pick<Lab, 'logFile'>): (number | null)[] {
  const lines = readFileSync(lab.logFile('service'), 'utf8').split('\n');
  return lines
    .filter((line) => line.startsWith('{') && line.includes('"child-exited"'))
    .map((line) => (JSON.parse(line) as { readonly code: number | null }).code);
}
