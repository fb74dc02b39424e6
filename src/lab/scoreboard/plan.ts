/** What the scoreboard plays, in the order in which the service restarts least. Pure. */
import type { Circumstance } from '../../ladder/rung.ts';
import type { RungName } from '../../ladder/rungs.ts';
import { allRaces } from '../drills/demo-plan.ts';
import type { OutagePlan } from '../drills/outages.ts';
import { type RaceName, schedules } from '../races/schedules.ts';
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

/** All outages of a rung are played through one sale. */
export interface PlannedSale {
  readonly rung: RungName;
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

export const salesOf = ({ rungs, faults }: Chosen): PlannedSale[] =>
  scoredRungs
    .filter((rung) => rungs.includes(rung))
    .map((rung) => ({ rung, outages: outagesFor(rung, faults) }))
    .filter(({ outages }) => outages.length > 0);

const outagesFor = (rung: RungName, faults: readonly string[]): PlannedSale['outages'] =>
  outageFaults
    .filter(({ name }) => faults.includes(name))
    .flatMap((fault) => {
      const plan = outagePlanOf(rung, fault);
      return plan === undefined ? [] : [{ fault: fault.name, plan }];
    });
