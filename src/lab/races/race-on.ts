/** Plays a race in the shape that it needs: its number of instances, and short leases. */
import type { RungName } from '../../ladder/rungs.ts';
import type { Lab } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import { playRace, raceSettings } from './play-race.ts';
import type { PlayedRace } from './race-verdict.ts';
import { type RaceName, schedules } from './schedules.ts';

export async function raceOn(lab: Lab, name: RaceName, rung: RungName): Promise<PlayedRace> {
  await lab.ensure({
    instances: schedules[name].instances,
    balancer: 'nginx',
    settings: raceSettings,
  });
  return withConnections(lab, (connections) => playRace(name, rung, lab, connections));
}
