/** What the scoreboard plays, in the order in which the service restarts least. Pure. */
import type { Circumstance } from '../../service/ladder/rung.ts';
import type { RungName } from '../../service/ladder/rungs.ts';
import { allRaces } from '../drills/demo-plan.ts';
import type { Away, OutagePlan } from '../drills/lock-outages.ts';
import type { Network } from '../environment/servers/service.ts';
import { type RaceName, schedules } from '../play/schedules.ts';
import { outageFaults, outagePlanOf, safetyFaults, scoredRungs } from './columns.ts';

export interface Chosen {
  readonly rungs: readonly string[];
  readonly faults: readonly string[];
}

export interface PlannedRace {
  readonly rung: RungName;
  readonly fault: Circumstance;
  readonly race: RaceName;
}

/** All outages of a rung in one network are played through one sale. */
export interface PlannedSale {
  readonly rung: RungName;
  readonly network: Network;
  readonly outages: readonly { readonly fault: string; readonly plan: OutagePlan }[];
}

/** Of two races with one fault, a rung may play both. One instance before four. */
export function racesOf({ rungs, faults }: Chosen): PlannedRace[] {
  const planned = allRaces
    .map(({ race, rung }) => ({ race, rung, fault: schedules[race].under }))
    .filter(({ rung, fault }) => scoredRungs.includes(rung) && safetyFaults.includes(fault))
    .filter(({ rung, fault }) => rungs.includes(rung) && faults.includes(fault));
  const instances = ({ race }: PlannedRace) => schedules[race].instances;
  return planned.toSorted((one, other) => instances(one) - instances(other));
}

/** Those through proxies last: the service restarts once between the two kinds. */
export const salesOf = ({ rungs, faults }: Chosen): PlannedSale[] =>
  (['direct', 'proxied'] as const).flatMap((network) =>
    scoredRungs
      .filter((rung) => rungs.includes(rung))
      .map((rung) => ({ rung, network, outages: outagesFor(rung, network, faults) }))
      .filter(({ outages }) => outages.length > 0),
  );

const networkOfOutage = (away: Away): Network => (away === 'late' ? 'proxied' : 'direct');

const outagesFor = (
  rung: RungName,
  network: Network,
  faults: readonly string[],
): PlannedSale['outages'] =>
  outageFaults
    .filter(({ name, away }) => faults.includes(name) && networkOfOutage(away) === network)
    .flatMap((fault) => {
      const plan = outagePlanOf(rung, fault);
      return plan === undefined ? [] : [{ fault: fault.name, plan }];
    });
