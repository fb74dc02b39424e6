/**
 * The purchases of a sale with a waiting room: in a calm, and while ten times as many users arrive
 * and wait. Beside it the same rush without a waiting room.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { type FirstLook, inversionsOf } from '../drills/waiting-room.ts';
import type { Bilingual } from '../stage/result.ts';
import { type Block, type Column, tableOf } from '../stage/table.ts';
import { bodyOf, codeOf, LightConnections, requestText } from '../workload/light-connections.ts';
import { faultsOfRecording } from './faults-of-figures.ts';
import { faultsText, paragraph } from './figure-text.ts';
import { type LightLoad, lightLoad, Measured, whenDue } from './light-load.ts';
import { type Bench, measureOpen, orderPath } from './measure.ts';
import type { BenchmarkResult } from './targets.ts';
import { headersOf, type LoadResult } from './wrk.ts';

/** How many times more users arrive in the rush. */
const overload = 10;
/** From the pass to the purchase: from half a second to one and a half, each user another time. */
const thinkMs = (user: number): number => 500 + ((user * 7_919) % 1_000);
/** How long a pass is out: its user asks for it, thinks, and buys. */
const passSeconds = 2;

export interface WaitingRow extends LoadResult {
  readonly name: 'calm' | 'rush' | 'rush without a waiting room';
  readonly usersPerSecond: number;
  readonly users: number;
  readonly soldPerSecond: number;
  /** When the last user had come. */
  readonly waiting: number;
  /** Users who asked after another one was answered, and have an earlier place. */
  readonly inversions: number;
  readonly otherWork: number | null;
}

export interface WaitingBenchmark extends BenchmarkResult {
  readonly rung: string;
  readonly passesAtOnce: number;
  readonly rows: readonly WaitingRow[];
}

/** @param rate of users in the rush @param line so many wait at its end */
export async function benchmarkWaiting(
  bench: Bench,
  rung: string,
  rate: number,
  line: number,
): Promise<WaitingBenchmark> {
  const { load, lab, progress } = bench;
  const calmRate = Math.max(1, Math.round(rate / overload));
  const passesAtOnce = passSeconds * calmRate;
  const rushUsers = Math.min(load.tokens.count, Math.round(line / (1 - 1 / overload)));
  const faults: string[] = [];
  const rows: WaitingRow[] = [];
  const measure = async (name: WaitingRow['name'], usersPerSecond: number, users: number) => {
    progress({
      en: `${name}: ${users} users, ${usersPerSecond} in a second …`,
      zh: `${names[name].zh}：${users} 个用户，每秒 ${usersPerSecond} 个……`,
    });
    const hasRoom = name !== 'rush without a waiting room';
    const row = await measureRow(bench, rung, usersPerSecond, users, hasRoom ? passesAtOnce : 0);
    const { accepted, recorded, ...figures } = row;
    rows.push({ ...figures, name, usersPerSecond, users });
    faults.push(...faultsOfRecording(name, accepted, recorded, 0));
    if (figures.inversions > 0) faults.push(`${name}: ${figures.inversions} inversions`);
  };
  await measure('calm', calmRate, calmRate * load.seconds);
  await measure('rush', rate, rushUsers);
  await measure('rush without a waiting room', rate, rate * load.seconds);
  const { instances } = lab.shape;
  return { rung, passesAtOnce, rows, instances, faults, seconds: load.seconds, targets: [] };
}

async function measureRow(
  bench: Bench,
  rung: string,
  rate: number,
  users: number,
  passesAtOnce: number,
) {
  const { lab, load, signal } = bench;
  const headers = headersOf(load.tokens, users);
  const come = passesAtOnce > 0 ? line : directly;
  const sale = passesAtOnce > 0 ? { passesAtOnce } : {};
  const send = async (voucherId: string) => {
    const begunMs = performance.now();
    const sent = await come(lab.baseUrl, voucherId, { rate, headers }, signal);
    const { accepted = 0 } = sent.answers;
    return { ...sent, soldPerSecond: (accepted * 1_000) / (performance.now() - begunMs) };
  };
  const { cpu: _, ...row } = await measureOpen(bench, rung, users, send, sale);
  return row;
}

async function directly(baseUrl: string, voucherId: string, load: LightLoad, signal: AbortSignal) {
  const result = await lightLoad(`${baseUrl}${orderPath(voucherId)}`, load, signal);
  return { ...result, waiting: 0, inversions: 0 };
}

/** Until the last user has come, and every purchase that was begun is answered. */
const line = (
  baseUrl: string,
  voucherId: string,
  { rate, headers }: LightLoad,
  signal: AbortSignal,
) =>
  LightConnections.use(baseUrl, {}, signal, async (connections, ended) => {
    const users = new Line(connections, voucherId, headers);
    try {
      await whenDue(rate, headers.length, ended, (next) =>
        users.enter(next, process.hrtime.bigint()),
      );
      const waiting = users.waiting;
      users.end();
      while (users.isBuying) await sleep(5, undefined, { signal: ended });
      return { ...users.purchases.result(), waiting, inversions: inversionsOf(users.looks) };
    } finally {
      users.end();
    }
  });

type PlaceAnswer = { readonly place: number; readonly askAgainSeconds?: number; pass?: string };

class Line {
  readonly purchases = new Measured();
  /** The first answer to each user. */
  readonly looks: FirstLook[] = [];
  readonly #connections: LightConnections;
  readonly #voucherId: string;
  readonly #headers: readonly string[];
  #isOver = false;
  #buying = 0;
  #thinking = 0;

  constructor(connections: LightConnections, voucherId: string, headers: readonly string[]) {
    this.#connections = connections;
    this.#voucherId = voucherId;
    this.#headers = headers;
  }

  get waiting(): number {
    return this.looks.length - this.purchases.count - this.#buying - this.#thinking;
  }

  get isBuying(): boolean {
    return this.#buying > 0;
  }

  end(): void {
    this.#isOver = true;
  }

  /** @param askedAt when this user first asked; undefined once there was an answer */
  enter(user: number, askedAt?: bigint): void {
    const path = `/vouchers/${this.#voucherId}/place`;
    this.#connections.ask(requestText('POST', path, this.#authorization(user)), (answer) => {
      const answeredAt = process.hrtime.bigint();
      if (codeOf(answer) !== '200') return this.#askAgain(user, 1, askedAt);
      const { place, pass, askAgainSeconds = 1 } = bodyOf(answer) as PlaceAnswer;
      if (askedAt !== undefined) this.looks.push({ askedAt, answeredAt, place });
      if (pass === undefined) this.#askAgain(user, askAgainSeconds);
      else this.#think(user, pass);
    });
  }

  #askAgain(user: number, seconds: number, askedAt?: bigint): void {
    this.#later(seconds * 1_000, () => this.enter(user, askedAt));
  }

  #think(user: number, pass: string): void {
    this.#thinking += 1;
    this.#later(thinkMs(user), () => {
      this.#thinking -= 1;
      this.#buy(user, pass);
    });
  }

  /** Unless the line is over by then. */
  #later(ms: number, act: () => void): void {
    setTimeout(() => {
      if (!this.#isOver) act();
    }, ms).unref();
  }

  #buy(user: number, pass: string): void {
    const dueMs = performance.now();
    this.#buying += 1;
    const headers = { ...this.#authorization(user), 'Purchase-Pass': pass };
    this.#connections.ask(requestText('POST', orderPath(this.#voucherId), headers), (answer) => {
      this.#buying -= 1;
      this.purchases.add(codeOf(answer), dueMs);
    });
  }

  #authorization(user: number) {
    return { Authorization: this.#headers[user] ?? '' };
  }
}

export function waitingReport(result: WaitingBenchmark): Block[] {
  const { rung, rows, seconds, passesAtOnce, instances } = result;
  return [
    tableOf(
      {
        en: `A rush on a sale of ${rung}, with a waiting room and without one`,
        zh: `${rung} 的一次抢购，有等候室和没有等候室`,
      },
      rows,
      waitingColumns,
      { legend },
    ),
    {
      en: `Through nginx, with ${instances} instances and ${passesAtOnce} passes at once. The first
and the last line are ${seconds} s each. Without a waiting room, everybody buys at once;
with it, about a second after the pass.`,
      zh: `经过 nginx，${instances} 个实例，同时有 ${passesAtOnce} 张通行证。第一行和最后一行各 ${seconds} 秒。
没有等候室，所有人立刻下单；有等候室，拿到通行证约一秒后下单。`,
    },
    ...paragraph(rows.flatMap(refusals)),
    faultsText(result),
  ];
}

const waitingColumns: readonly Column<WaitingRow>[] = [
  ['', ({ name }) => names[name]],
  [{ en: 'users/s', zh: '用户/秒' }, ({ usersPerSecond }) => usersPerSecond.toFixed(0)],
  [{ en: 'users', zh: '用户' }, ({ users }) => users.toFixed(0)],
  [{ en: 'sold/s', zh: '卖出/秒' }, ({ soldPerSecond }) => soldPerSecond.toFixed(0)],
  [{ en: 'waiting', zh: '排队' }, ({ waiting }) => waiting.toFixed(0)],
  ['p50 ms', ({ p50Ms }) => p50Ms.toFixed(1)],
  ['p99 ms', ({ p99Ms }) => p99Ms.toFixed(1)],
  [{ en: 'inversions', zh: '插队' }, ({ inversions }) => inversions],
];

const names: Readonly<Record<WaitingRow['name'], Bilingual>> = {
  calm: { en: 'calm', zh: '平静' },
  rush: { en: 'rush', zh: '抢购' },
  'rush without a waiting room': { en: 'rush, no waiting room', zh: '抢购，没有等候室' },
};

const legend = {
  waiting: {
    en: 'users who had no turn yet when the last one had come',
    zh: '最后一个用户到来时，还没轮到的用户',
  },
  'p50 ms': {
    en: 'of a purchase, from when it is due; of every answer, also a refusal; then p99',
    zh: '一次下单的响应时间，从该发出的时刻算起，拒绝的也算；其后是 p99',
  },
  inversions: {
    en: 'users who asked after another one was answered, with an earlier place',
    zh: '别人已得到响应之后才来，位置却更靠前的用户',
  },
};

const refusals = ({ name, answers: { accepted: _, ...refused } }: WaitingRow): string[] =>
  Object.entries(refused).map(([code, count]) => `${name}: ${count} answers ${code}`);
