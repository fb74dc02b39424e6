/**
 * Every queue of the ladder, and BullMQ as an outsider: a fault at every hop of an order behind the
 * sale. Each fault has its place in the steps of a race, so what a queue loses shows every time;
 * and what its row claims to lose must show.
 */

import { confirmed, type Facts } from '../../service/audit/facts.ts';
import { readHistory } from '../../service/audit/read-history.ts';
import type { Rung } from '../../service/ladder/rung.ts';
import { ladder, type RungName, rungNames } from '../../service/ladder/rungs.ts';
import { texts } from '../../texts/texts.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { isOutsider, outsiderNames, withOutsiders } from '../outsiders/with-outsiders.ts';
import { playRace, raceSettings } from '../play/play-race.ts';
import { verdictOn } from '../play/race-on.ts';
import { type PlayedRace, raceVerdict } from '../play/race-verdict.ts';
import type { RaceName } from '../play/schedules.ts';
import { sum } from '../stage/counts.ts';
import { evidenceIn, type Judged, type Table, type Text } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import { type Column, inColumns } from '../stage/table.ts';
import { allRaces } from './demo-plan.ts';
import type { Drill } from './drill.ts';
import { drillVerdict } from './expectations.ts';
import { shownViolation } from './race-drill.ts';

export const hops: readonly RaceName[] = [
  'crash-before-publish',
  'instance-dies',
  'worker-dies',
  'worker-dies-after-commit',
  'worker-away',
  'queue-restarts',
  'database-restarts',
  'session-killed',
  'connections-used-up',
];

const readAgainWithinMs = 10_000;

/** The rungs whose orders wait in a queue, and that a rush does not break already. */
export const queueRungs: readonly RungName[] = rungNames.filter(
  (name) => (ladder[name] as Rung).queue !== undefined && hops.every((hop) => isPlayed(hop, name)),
);

function isPlayed(hop: RaceName, on: RungName): boolean {
  return allRaces.some(({ race, rung }) => race === hop && rung === on);
}

export const acceptedShape: ServiceShape = {
  instances: 4,
  balancer: 'nginx',
  settings: { ...raceSettings, ...withOutsiders },
};

export const acceptedIsNotSold: Drill = {
  about: {
    en: 'a fault at every hop of an order, on every queue: what was accepted, and what is sold',
    zh: '每种队列上，订单的每一跳都出一次故障：接受了什么，卖出了什么',
  },
  takesMinutes: 7,
  play: async (stage) => judgeHops(await tryQueues(stage, [...queueRungs, ...outsiderNames], hops)),
};

/** @param rungs of the ladder, or outsiders */
export async function tryQueues(
  stage: Stage,
  rungs: readonly string[],
  names: readonly RaceName[],
): Promise<HopPlay[]> {
  await import('../outsiders/outsiders.ts'); // This process must know their rows too.
  await stage.serve({ ...acceptedShape });
  const played: HopPlay[] = [];
  for (const rung of rungs) {
    for (const name of names) {
      const play = await playHop(stage, name, rung);
      played.push(play);
      const { verdict } = play.race;
      const { en, zh } = verdictOn(name, rung, verdict);
      const mark = play.hop.asClaimed ? '' : '!';
      stage.note({ en: en + mark, zh: zh + mark });
    }
  }
  return played;
}

/** One hop on one queue. */
export interface HopPlay {
  readonly race: PlayedRace;
  readonly hop: Hop;
}

async function playHop(stage: Stage, name: RaceName, rung: string): Promise<HopPlay> {
  const before = stage.injected.length;
  const played = await playRace(stage, name, rung, { drainWithinMs });
  const faultAt = stage.injected.slice(before).at(-1)?.at ?? 0n;
  const race = name === redeliveredAt ? await onceRedelivered(stage, played) : played;
  const { asClaimed, facts } = race;
  return { race, hop: { rung, hop: name, ...countHop(facts, faultAt), asClaimed } };
}

/**
 * The order is in MySQL already, so nothing waits for its second delivery. It comes once the next
 * worker has started, or once the order is claimed; some queues have none. What it did is judged.
 */
async function onceRedelivered(
  stage: Stage,
  { race, rung, steps, stops, facts }: PlayedRace,
): Promise<PlayedRace> {
  const { voucherId } = facts;
  const read = () => readHistory(stage.lab.historyFolder, voucherId);
  const isTwice = () => read().history.filter(({ event }) => event === 'recorded').length > 1;
  const again = stage.until('the second delivery', readAgainWithinMs, isTwice);
  await again.catch(() => stage.signal.throwIfAborted());
  return raceVerdict(race, rung, { steps, stops }, await stage.facts(voucherId));
}

/** Each play must be as its row claims: what a queue loses must show, and nothing else may. */
export function judgeHops(plays: readonly HopPlay[]): Judged {
  const wrong = plays.filter(({ hop }) => !hop.asClaimed);
  const reasonOf = ({ race }: HopPlay) => {
    const { en, zh } = verdictOn(race.race, race.rung, race.verdict);
    return {
      en: `${en}, and the ladder claims ${race.claim}; ${race.evidence}`,
      zh: `${zh}，预期是${texts.zh.verdicts[race.claim]}；${evidenceIn('zh', race)}`,
    };
  };
  const isUnknown = ({ race }: HopPlay) => race.verdict === 'unknown';
  const count = (of: (hop: Hop) => number) => sum(plays.map(({ hop }) => of(hop)));
  return {
    ...drillVerdict([], {
      broken: wrong.filter((play) => !isUnknown(play)).map(reasonOf),
      missing: wrong.filter(isUnknown).map(reasonOf),
    }),
    asClaimed: plays.map(({ race }) => race).flatMap(shownViolation),
    figures: {
      hopsPlayed: plays.length,
      accepted: count(({ accepted }) => accepted),
      recordedTwice: count(({ twice }) => twice),
      neverRecorded: count(({ never }) => never),
      usersStuck: count(({ stuck }) => stuck),
    },
    tables: hopTables(plays.map(({ hop }) => hop)),
    facts: wrong.map(({ race }) => race.facts),
  };
}

/**
 * How long a queue may take in the end. BullMQ looks for stalled jobs every 30 seconds, must see
 * one twice, and skips a look that comes a moment too early: the job of a dead worker was given to
 * another one after 60 or 90 seconds.
 */
export const drainWithinMs = 150_000;

/** The hop after which an order is delivered a second time, by a queue that can. */
export const redeliveredAt: RaceName = 'worker-dies-after-commit';

export interface Hop {
  readonly rung: string;
  readonly hop: RaceName;
  /** Orders whose clients were told `accepted`. */
  readonly accepted: number;
  /** Of those: in MySQL once, more than once, and not at all. */
  readonly once: number;
  readonly twice: number;
  readonly never: number;
  /** Users with stock in Redis and no order in MySQL: they can never buy. */
  readonly stuck: number;
  /** From the last fault until everything was recorded; null when that never was. */
  readonly seconds: number | null;
  readonly asClaimed: boolean;
}

type Counts = Omit<Hop, 'rung' | 'hop' | 'asClaimed'>;

/** @param faultAt of the last fault, in nanoseconds of the history's clock. */
export function countHop(facts: Facts, faultAt: bigint): Counts {
  const { attempts = [], redis, history = [] } = facts;
  const byUser = Map.groupBy(confirmed(facts), ({ userId }) => userId);
  const accepted = attempts.filter(({ outcome }) => outcome === 'accepted');
  const rows = accepted.map(({ userId }) => byUser.get(userId)?.length ?? 0);
  const stuck = Object.keys(redis?.buyers ?? {}).filter((userId) => !byUser.has(userId)).length;
  const never = rows.filter((count) => count === 0).length;
  const recorded = history.filter(({ event }) => event === 'recorded').map(({ at }) => BigInt(at));
  const last = recorded.reduce((latest, at) => (at > latest ? at : latest), faultAt);
  return {
    accepted: accepted.length,
    once: rows.filter((count) => count === 1).length,
    twice: rows.filter((count) => count > 1).length,
    never,
    stuck,
    seconds: never + stuck > 0 ? null : Number(last - faultAt) / 1e9,
  };
}

/** Those that have a row. */
export const hopTables = (hops: readonly Hop[]): Table[] =>
  [hopTable(hops), fateTable(hops), notesTable(hops)].filter(({ rows }) => rows.length > 0);

const none = '–';
const named = (rung: string): string => (isOutsider(rung) ? `${rung} *` : rung);

const hopTable = (hops: readonly Hop[]): Table => ({
  title: {
    en: 'A fault at each hop (* no rung: an outsider)',
    zh: '每一跳注入一个故障（* 不是方案，是外部对照）',
  },
  legend: {
    yes: {
      en: 'accepted orders; of these in MySQL once, twice, never',
      zh: '接受的订单；其中在 MySQL 里有一次、两次、从来没有',
    },
    stuck: {
      en: 'users whose unit is gone in Redis, and who have no order: they can never buy',
      zh: '在 Redis 里占了一张、却没有订单的用户：再也买不到',
    },
    s: {
      en: 'seconds from the last fault until all is recorded; – it never was',
      zh: '从最后一个故障到全部入库的秒数；– 没有全部入库',
    },
  },
  ...inColumns(hops, hopColumns),
});

const hopColumns: readonly Column<Hop>[] = [
  [{ en: 'rung', zh: '方案' }, ({ rung }) => named(rung)],
  [{ en: 'hop', zh: '一跳' }, ({ hop }) => hop],
  [{ en: 'yes', zh: '受理' }, ({ accepted }) => accepted],
  [{ en: 'once', zh: '一次' }, ({ once }) => once],
  [{ en: 'twice', zh: '两次' }, ({ twice }) => twice],
  [{ en: 'never', zh: '没有' }, ({ never }) => never],
  [{ en: 'stuck', zh: '卡住' }, ({ stuck }) => stuck],
  [{ en: 's', zh: '秒' }, ({ seconds }) => seconds?.toFixed(1) ?? none],
];

/** A row for each queue and a column for each hop: what became of the order there. */
function fateTable(hops: readonly Hop[]): Table {
  const rungs = [...new Set(hops.map(({ rung }) => rung))];
  const names = [...new Set(hops.map(({ hop }) => hop))];
  const fateOf = (rung: string, name: RaceName): Text => {
    const found = hops.find((each) => each.rung === rung && each.hop === name);
    return found ? fateText(found) : none;
  };
  return {
    title: { en: 'What became of the order at each hop', zh: '在每一跳，订单后来怎样' },
    isWide: true,
    head: [{ en: 'queue of', zh: '队列' }, ...names],
    rows: rungs.map((rung) => [named(rung), ...names.map((name) => fateOf(rung, name))]),
  };
}

function fateText({ hop, never, stuck, twice, seconds }: Hop): Text {
  if (never > 0) return { en: '**lost**', zh: '**丢失**' };
  if (stuck > 0) return { en: '**stuck**', zh: '**卡住**' };
  if (twice > 0) return { en: '**twice**', zh: '**两次**' };
  if (hop === redeliveredAt && seconds === 0) return { en: 'not again', zh: '不再投递' };
  return seconds === null ? none : `${seconds.toFixed(1)} s`;
}

/** The queues that the course notes compare, by the names that these give them. */
const inNotes = {
  List: 'redis-list',
  PubSub: 'redis-pubsub',
  Stream: 'redis-stream',
  'Stream, group': 'redis-stream-group',
  RabbitMQ: 'rabbitmq',
} as const satisfies Record<string, RungName>;

/**
 * The notes' table, measured: it is persistent when a restart of its server loses nothing, keeps a
 * backlog when nothing is lost while no worker runs, is acknowledged when a dead worker loses
 * nothing. It redelivers when the next worker is given what the dead one had committed.
 */
function notesTable(hops: readonly Hop[]): Table {
  const rows = Object.entries(inNotes).flatMap(([name, rung]) => {
    const at = (wanted: RaceName) => hops.find((each) => each.rung === rung && each.hop === wanted);
    const fate = (wanted: RaceName): Text => {
      const hop = at(wanted);
      if (!hop) return none;
      return hop.never > 0 ? { en: 'lost', zh: '丢失' } : { en: 'kept', zh: '保留' };
    };
    const again = at(redeliveredAt)?.seconds;
    const kept = [fate('queue-restarts'), fate('worker-away'), fate('worker-dies')];
    if (again === undefined || kept.includes(none)) return [];
    const isAgain = again !== null && again > 0;
    return [[name, ...kept, isAgain ? { en: 'yes', zh: '是' } : { en: 'no', zh: '否' }]];
  });
  const head = [
    { en: 'in the notes', zh: '笔记里' },
    { en: 'persistent', zh: '持久化' },
    { en: 'backlog', zh: '堆积' },
    { en: 'acknowledged', zh: '确认' },
    { en: 'redelivered', zh: '重新投递' },
  ];
  return { title: { en: 'As the course notes compare', zh: '照课程笔记的比法' }, head, rows };
}
