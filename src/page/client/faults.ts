/** The faults of a play: which can be chosen now, by whom, and why a promise broke by them. */
import { actOf, disturbsOnlyItsOwnPlay } from '../../lab/play/letters.ts';
import { notRead } from '../../lab/stage/events.ts';
import { workerLane } from '../../lab/stage/lane-messages.ts';
import type { CheckName } from '../../service/domain.ts';
import type { Reason } from '../../service/ladder/reasons.ts';
import type { Circumstance } from '../../service/ladder/rung.ts';
import { isLearner } from './api.ts';
import { type FamousRace, type LadderRow, ladderRow } from './built-rows.ts';
import { isDone, type PlayView } from './play-model.ts';

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
  return [`X${workerLane}`, `S${workerLane}`];
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
    ...inState('at').flatMap((name) => (name === workerLane ? [] : [`X${name}`, `P${name}`])),
    ...workerFaults(of),
    ...mayLose.map((name) => `U${name}`),
    ...inState('paused').map((name) => `R${name}`),
    ...[...owners].map((name) => `E${name}`),
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

function circumstancesOf({ choices, rows }: PlayView): Circumstance[] {
  const has = (does: string, isOfWorker = false) =>
    choices.some(({ choice, isTaken }) => {
      const act = actOf(choice);
      return isTaken && act.does === does && (act.to === workerLane) === isOfWorker;
    });
  const played: Circumstance[] = [];
  if (has('kill')) played.push('crash-before-publish', 'crash-between-writes', 'instance-dies');
  if (has('end-lease'))
    played.push(
      has('pause') ? 'holder-pauses' : 'lease-expires-during-sale',
      'release-after-expiry',
    );
  const isDelivered = rows.some(({ lane, kind }) => lane === workerLane && kind === 'at');
  if (has('kill', true) || has('stop', true))
    played.push(isDelivered ? 'worker-dies' : 'worker-away');
  return played;
}
