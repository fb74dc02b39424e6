/** What can be broken in a play at this moment, as choices. */
import { notRead } from '../../lab/stage/events.ts';
import { workerLane } from '../../lab/stage/lane-messages.ts';
import { ladderRow } from './ladder-rows.ts';
import { mayChoose } from './learner.ts';
import { isDone, type PlayView } from './play-model.ts';

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
