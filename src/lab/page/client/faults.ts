/** What can be broken in a play at this moment, as choices. */
import { notRead } from '../../stage/events.ts';
import { ladderRow } from './ladder-rows.ts';
import { isDone, type PlayView } from './model.ts';

export function faultsIn(of: PlayView): string[] {
  if (isDone(of)) return [];
  const { lanes, readings, rung } = of;
  const inState = (wanted: string) =>
    [...lanes.values()].flatMap(({ name, state }) => (state === wanted ? [name] : []));
  const leases = readings.filter(({ id, leftMs }) => id === 'key' && leftMs !== undefined);
  const owners = new Set(leases.flatMap(({ lane }) => (lane === undefined ? [] : [lane])));
  const masters = (ladderRow(rung)?.lockServers ?? []).filter((name) => /^redis-\d$/.test(name));
  const isAway = (server: string) =>
    readings.some(({ of: name, value }) => name === server && value === notRead);
  return [
    ...inState('at').flatMap((name) => [`X${name}`, `P${name}`]),
    ...inState('paused').map((name) => `R${name}`),
    ...[...owners].map((name) => `E${name}`),
    ...masters.map((server) => `${isAway(server) ? 'H' : 'S'}${server.at(-1)}`),
  ];
}
