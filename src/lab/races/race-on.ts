/** Plays a race in the shape that it needs: its number of instances, and short leases. */
import type { RungName } from '../../ladder/rungs.ts';
import type { Lab } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import type { Network } from '../environment/servers/service.ts';
import { playRace, raceSettings } from './play-race.ts';
import type { PlayedRace } from './race-verdict.ts';
import { hasLockFaults, type RaceName, type Schedule, schedules } from './schedules.ts';

/** @param calm the network of a race without faults in the lock servers. */
export async function raceOn(
  lab: Lab,
  name: RaceName,
  rung: RungName,
  calm: Network = 'direct',
): Promise<PlayedRace> {
  const schedule: Schedule = schedules[name];
  await lab.ensure({
    instances: schedule.instances,
    balancer: 'nginx',
    settings: raceSettings,
    network: hasLockFaults(schedule) ? 'proxied' : calm,
  });
  try {
    return await withConnections(lab, (connections) => playRace(name, rung, lab, connections));
  } catch (error) {
    await lab.heal(); // An injection may have failed half-way.
    throw error;
  }
}
