/** Plays a race in the shape that it needs: its number of instances, and short leases. */
import { audit } from '../../audit/audit.ts';
import type { Connections } from '../../connections/connections.ts';
import type { RungName } from '../../ladder/rungs.ts';
import type { Lab, Progress } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import type { Network, ServiceShape } from '../environment/servers/service.ts';
import { playRace, raceSettings } from './play-race.ts';
import { isAboutData, type PlayedRace } from './race-verdict.ts';
import { hasLockFaults, type RaceName, type Schedule, schedules } from './schedules.ts';
import { untilKnown } from './until-known.ts';

export interface RaceOnOptions {
  /** The network of a race without faults in the lock servers. */
  readonly calm?: Network;
  readonly progress?: Progress;
  readonly signal?: AbortSignal;
}

/** Wrong data is shown, however slow the machine was: some rungs must never let it happen. */
export function tooSlowBecause(
  played: Pick<PlayedRace, 'race' | 'rung' | 'isSlow' | 'evidence' | 'facts'>,
): string | undefined {
  const { race, rung, isSlow, evidence, facts } = played;
  const isDataWrong = audit(facts).findings.some(
    ({ check, verdict }) => verdict === 'violated' && isAboutData(check),
  );
  return isSlow && !isDataWrong ? `${race} on ${rung}: ${evidence}` : undefined;
}

export async function raceOn(
  lab: Lab,
  name: RaceName,
  rung: RungName,
  { calm = 'direct', progress = () => {}, signal }: RaceOnOptions = {},
): Promise<PlayedRace> {
  const schedule: Schedule = schedules[name];
  const shape: ServiceShape = {
    ...{ instances: schedule.instances, balancer: 'nginx', settings: raceSettings },
    network: hasLockFaults(schedule) ? 'proxied' : calm,
  };
  const { last } = await untilKnown(
    () => playIn(shape, lab, (connections) => playRace(name, rung, lab, connections)),
    tooSlowBecause,
    progress,
    signal,
  );
  return last;
}

async function playIn(
  shape: ServiceShape,
  lab: Lab,
  play: (connections: Connections) => Promise<PlayedRace>,
): Promise<PlayedRace> {
  await lab.ensure(shape);
  try {
    return await withConnections(lab, play);
  } catch (error) {
    await lab.heal(); // An injection may have failed half-way.
    throw error;
  }
}
