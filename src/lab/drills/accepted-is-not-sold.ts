/**
 * Every queue of the ladder, and BullMQ as an outsider: a fault at every hop of an order behind the
 * sale. Each fault has its place in the steps of a race, so what a queue loses shows every time;
 * and what its row claims to lose must show.
 */

import { readHistory } from '../../audit/read-history.ts';
import type { Connections } from '../../connections/connections.ts';
import { countBy } from '../../grouping.ts';
import type { Rung } from '../../ladder/rung.ts';
import { ladder, type RungName, rungNames } from '../../ladder/rungs.ts';
import type { Lab } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { waitUntil } from '../environment/wait-until.ts';
import type { Fault } from '../faults/fault.ts';
import { outsiderNames, withOutsiders } from '../outsiders/with-outsiders.ts';
import { playRace, raceSettings, type Surroundings, withoutLoad } from '../races/play-race.ts';
import { type PlayedRace, raceVerdict } from '../races/race-verdict.ts';
import { type RaceName, schedules } from '../races/schedules.ts';
import { drained } from '../workload/drained.ts';
import { drillVerdict } from './audited.ts';
import { allRaces } from './demo-plan.ts';
import type { Drill, DrillOptions, DrillResult } from './drill.ts';
import { countHop, drainWithinMs, type Hop, readAgainAt } from './hops.ts';
import { inject } from './recorded.ts';

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
  about: 'a fault at every hop of an order, on every queue: what was accepted, and what is sold',
  run: (lab, options) =>
    tryQueues(lab, { rungs: [...queueRungs, ...outsiderNames], hops }, options),
};

export interface Trials {
  /** Of the ladder, or outsiders. */
  readonly rungs: readonly string[];
  readonly hops: readonly RaceName[];
}

export async function tryQueues(
  lab: Lab,
  trials: Trials,
  options: DrillOptions,
): Promise<DrillResult> {
  await import('../outsiders/outsiders.ts'); // This process must know their rows too.
  await lab.ensure({ ...acceptedShape });
  const played: Cell[] = [];
  for (const rung of trials.rungs) {
    for (const hop of trials.hops) {
      options.signal.throwIfAborted();
      const cell = await playHop(lab, hop, rung, options);
      played.push(cell);
      options.progress(`${hop} on ${rung}: ${cell.race.verdict}${cell.hop.asClaimed ? '' : '!'}`);
    }
  }
  return judgeHops(played);
}

/** One hop on one queue. */
export interface Cell {
  readonly race: PlayedRace;
  readonly hop: Hop;
  readonly faults: readonly string[];
}

async function playHop(
  lab: Lab,
  name: RaceName,
  rung: string,
  { recorder }: DrillOptions,
): Promise<Cell> {
  const faults: string[] = [];
  let faultAt = 0n;
  const surroundings: Surroundings = {
    ...withoutLoad,
    drainWithinMs,
    inject: async (own: Lab, fault: Fault) => {
      faults.push(fault.name);
      faultAt = process.hrtime.bigint();
      return inject(own, fault, recorder);
    },
  };
  const race = await withConnections(lab, async (connections) => {
    const played = await playRace(name, rung, lab, connections, surroundings);
    return name === readAgainAt ? onceReadAgain(lab, connections, played) : played;
  });
  for (const attempt of race.facts.attempts ?? []) recorder.attempt(attempt);
  const { asClaimed, facts } = race;
  return { race, faults, hop: { rung, hop: name, ...countHop(facts, faultAt), asClaimed } };
}

/**
 * The order is in MySQL already, so nothing waits for its second delivery. It comes once the next
 * worker has started, or once the order is claimed; some queues have none. What it did is judged.
 */
async function onceReadAgain(
  lab: Lab,
  connections: Connections,
  { race, rung, steps, stops, facts }: PlayedRace,
): Promise<PlayedRace> {
  const read = () => readHistory(lab.historyFolder, facts.voucherId);
  const isTwice = () => read().history.filter(({ event }) => event === 'recorded').length > 1;
  await waitUntil('the second delivery', readAgainWithinMs, isTwice).catch(() => {});
  const collected = await drained(connections, facts.voucherId);
  const now = { ...facts, ...collected, ...read() };
  return raceVerdict(race, rung, schedules[race], { steps, stops }, now);
}

/** Each cell must be as its row claims: what a queue loses must show, and nothing else may. */
export function judgeHops(cells: readonly Cell[]): DrillResult {
  const wrong = cells.filter(({ hop }) => !hop.asClaimed);
  const reasonOf = ({ race }: Cell) =>
    `${race.race} on ${race.rung}: ${race.verdict}, and the ladder claims ${race.claim}; ${race.evidence}`;
  const isUnknown = ({ race }: Cell) => race.verdict === 'unknown';
  const shown = cells.filter(({ race, hop }) => hop.asClaimed && race.verdict === 'violated');
  const sum = (count: (hop: Hop) => number) => cells.reduce((all, { hop }) => all + count(hop), 0);
  return {
    ...drillVerdict([], {
      broken: wrong.filter((cell) => !isUnknown(cell)).map(reasonOf),
      audited: [],
      missing: wrong.filter(isUnknown).map(reasonOf),
    }),
    asClaimed: shown.map(({ race }) => `${race.race} on ${race.rung}: ${race.evidence}`),
    figures: {
      hopsPlayed: cells.length,
      accepted: sum(({ accepted }) => accepted),
      recordedTwice: sum(({ twice }) => twice),
      neverRecorded: sum(({ never }) => never),
      usersStuck: sum(({ stuck }) => stuck),
    },
    hops: cells.map(({ hop }) => hop),
    faults: countBy(cells.flatMap(({ faults }) => faults)),
    facts: wrong.map(({ race }) => race.facts),
  };
}
