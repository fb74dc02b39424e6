/**
 * Every queue of the ladder, and BullMQ as an outsider: a fault at every hop of an order behind the
 * sale. Each fault has its place in the steps of a race, so what a queue loses shows every time;
 * and what its row claims to lose must show.
 */

import { readHistory } from '../../service/audit/read-history.ts';
import type { Rung } from '../../service/ladder/rung.ts';
import { ladder, type RungName, rungNames } from '../../service/ladder/rungs.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { outsiderNames, withOutsiders } from '../outsiders/with-outsiders.ts';
import { playRace, raceSettings } from '../play/play-race.ts';
import { type PlayedRace, raceVerdict } from '../play/race-verdict.ts';
import { type RaceName, schedules } from '../play/schedules.ts';
import type { Judged } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import { drillVerdict } from './audited.ts';
import { allRaces } from './demo-plan.ts';
import type { Drill } from './drill.ts';
import { hopTables } from './hop-tables.ts';
import { countHop, drainWithinMs, type Hop, redeliveredAt } from './hops.ts';

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
  ...{ instances: 4, balancer: 'nginx', settings: { ...raceSettings, ...withOutsiders } },
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
      stage.note(`${name} on ${rung}: ${play.race.verdict}${play.hop.asClaimed ? '' : '!'}`);
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
  return raceVerdict(race, rung, schedules[race], { steps, stops }, await stage.facts(voucherId));
}

/** Each play must be as its row claims: what a queue loses must show, and nothing else may. */
export function judgeHops(plays: readonly HopPlay[]): Judged {
  const wrong = plays.filter(({ hop }) => !hop.asClaimed);
  const reasonOf = ({ race }: HopPlay) =>
    `${race.race} on ${race.rung}: ${race.verdict}, and the ladder claims ${race.claim}; ${race.evidence}`;
  const isUnknown = ({ race }: HopPlay) => race.verdict === 'unknown';
  const shown = plays.filter(({ race, hop }) => hop.asClaimed && race.verdict === 'violated');
  const sum = (count: (hop: Hop) => number) => plays.reduce((all, { hop }) => all + count(hop), 0);
  return {
    ...drillVerdict([], {
      broken: wrong.filter((play) => !isUnknown(play)).map(reasonOf),
      audited: [],
      missing: wrong.filter(isUnknown).map(reasonOf),
    }),
    asClaimed: shown.map(({ race }) => `${race.race} on ${race.rung}: ${race.evidence}`),
    figures: {
      hopsPlayed: plays.length,
      accepted: sum(({ accepted }) => accepted),
      recordedTwice: sum(({ twice }) => twice),
      neverRecorded: sum(({ never }) => never),
      usersStuck: sum(({ stuck }) => stuck),
    },
    tables: hopTables(plays.map(({ hop }) => hop)),
    facts: wrong.map(({ race }) => race.facts),
  };
}
