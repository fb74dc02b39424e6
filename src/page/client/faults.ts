/** The faults of a play: which can be chosen now, by whom, and why a promise broke by them. */
import {
  actOf,
  disturbsOnlyItsOwnPlay,
  isLasting,
  lettersOfFault,
} from '../../lab/play/letters.ts';
import { notRead } from '../../lab/stage/events.ts';
import { workerLane } from '../../lab/stage/lane-messages.ts';
import type { CheckName } from '../../service/domain.ts';
import type { Circumstance, Reason } from '../../service/ladder/rung.ts';
import { isLearner } from './api.ts';
import { type FamousRace, type LadderRow, ladderRow } from './built-rows.ts';
import { buyersIn, isDone, type PlayView } from './play-model.ts';

/** Else a learner would hit the plays of others in the room: there is one order worker for all. */
export const isForLearners = ({ sale }: LadderRow): boolean => sale !== 'last-one-queued';

export const mayPlay = (row: LadderRow): boolean => !isLearner.value || isForLearners(row);

export const mayChoose = (choices: string): boolean =>
  !isLearner.value || disturbsOnlyItsOwnPlay(choices);

export const mayBegin = ({ byHand }: FamousRace): boolean =>
  !isLearner.value || (byHand !== undefined && disturbsOnlyItsOwnPlay(byHand.choices));

/** A queue in the instances has no worker of its own. */
function workerFaults({ lanes }: PlayView): string[] {
  const { state, instance } = lanes.get(workerLane) ?? {};
  const isPaused = [...lanes.values()].some((lane) => lane.state === 'paused');
  if (state === undefined || isPaused) return []; // The next one could not be looked for.
  if (state === 'stopped') return [`H${workerLane}`];
  if (instance === '') return state === 'at' ? [`X${workerLane}`] : [];
  return [`X${workerLane}`, `P${workerLane}`, `S${workerLane}`];
}

/** Broken by a choice, and not mended since. */
const isBroken = ({ choices }: PlayView, letters: string): boolean =>
  choices.findLast(
    ({ choice, isTaken }) =>
      isTaken && choice.slice(1) === letters.slice(1) && 'KOM'.includes(choice[0] ?? ''),
  )?.choice === letters;

/** What a lane can be asked before it begins, and what cuts one off that stands. */
function lockFaults(of: PlayView): string[] {
  const { hasLock = false, lockServers = [] } = ladderRow(of.rung) ?? {};
  const inState = (wanted: string) =>
    buyersIn(of).flatMap(({ name, state }) => (state === wanted ? [name] : []));
  const taken = of.choices.map(({ choice }) => choice);
  const asked = inState('idle').flatMap((name) => [`G${name}`, `I${name}`]);
  const cut = inState('at').map((name) => (isBroken(of, `O${name}`) ? `M${name}` : `O${name}`));
  return [
    ...(hasLock ? asked.filter((choice) => !taken.includes(choice)) : []),
    ...(lockServers.length > 0 ? cut : []),
  ];
}

/** Afterwards every instance must sell: one that stands still would not. */
function serverChoices(of: PlayView): string[] {
  const { serverFaults = [] } = ladderRow(of.rung) ?? {};
  const isPaused = buyersIn(of).some(({ state }) => state === 'paused');
  const isAway = of.readings.some(({ value }) => value === notRead);
  const isRecording = of.lanes.get(workerLane)?.checkpoint === 'recording';
  return serverFaults.flatMap((fault) => {
    const letters = lettersOfFault('K', fault);
    if (isBroken(of, letters)) return isLasting(fault) ? [lettersOfFault('M', fault)] : [];
    const cannot = isPaused || isAway || (fault === 'session-killed' && !isRecording);
    return cannot && fault !== 'restart-empty' ? [] : [letters];
  });
}

export function faultsIn(of: PlayView): string[] {
  if (isDone(of)) return [];
  const { lanes, readings, rung, losing } = of;
  const inState = (wanted: string) =>
    [...lanes.values()].flatMap(({ name, state }) => (state === wanted ? [name] : []));
  const leases = readings.filter(({ id, leftMs }) => id === 'key' && leftMs !== undefined);
  const owners = new Set(leases.flatMap(({ lane }) => (lane === undefined ? [] : [lane])));
  const masters = (ladderRow(rung)?.lockServers ?? []).filter((name) => /^redis-\d$/.test(name));
  const isAway = (server: string) =>
    readings.some(({ of: name, value }) => name === server && value === notRead);
  const mayLose = [...inState('idle'), ...inState('at')].filter(
    (name) => name !== workerLane && !losing.has(name),
  );
  const all = [
    ...inState('at').flatMap((name) =>
      name === workerLane ? [] : [`X${name}`, `P${name}`, `Z${name}`],
    ),
    ...workerFaults(of),
    ...mayLose.map((name) => `U${name}`),
    ...inState('paused').map((name) => `R${name}`),
    ...[...owners].flatMap((name) => [`E${name}`, `T${name}`]),
    ...lockFaults(of),
    ...serverChoices(of),
    ...masters.map((server) => `${isAway(server) ? 'H' : 'S'}${server.at(-1)}`),
  ];
  return all.filter(mayChoose);
}

/** The ladder's reason for what the choices did. @returns nothing where it has none, or several */
export function reasonOf(of: PlayView, broken: CheckName): Reason | undefined {
  const { breaks = [], faults = [] } = ladderRow(of.rung) ?? {};
  const played = circumstancesOf(of);
  const fitting = [...breaks, ...faults.filter(({ under }) => played.includes(under))];
  const reasons = fitting.filter(({ check }) => check === broken).map(({ because }) => because);
  return new Set(reasons).size === 1 ? reasons[0] : undefined;
}

function circumstancesBy(fault: string): Circumstance[] {
  if (fault === 'promote-replica') return ['stale-promotion'];
  return fault === 'restart-empty' || fault === 'queue-restarts' ? [fault] : [];
}

function circumstancesOf({ choices, rows }: PlayView): Circumstance[] {
  const has = (does: string, isOfWorker = false) =>
    choices.some(({ choice, isTaken }) => {
      const act = actOf(choice);
      return isTaken && act.does === does && (act.to === workerLane) === isOfWorker;
    });
  const played: Circumstance[] = [];
  const broken = choices.filter(({ isTaken }) => isTaken).map(({ choice }) => actOf(choice));
  for (const { does, to } of broken) if (does === 'break') played.push(...circumstancesBy(to));
  if (has('forget')) played.push('never-released');
  if (has('nest')) played.push('re-entry');
  if (has('kill')) played.push('crash-before-publish', 'crash-between-writes', 'instance-dies');
  if (has('end-lease') || has('pass-time'))
    played.push(
      has('pause') ? 'holder-pauses' : 'lease-expires-during-sale',
      'release-after-expiry',
    );
  const isDelivered = rows.some(({ lane, kind }) => lane === workerLane && kind === 'at');
  if (has('kill', true) || has('stop', true))
    played.push(isDelivered ? 'worker-dies' : 'worker-away');
  return played;
}
