/**
 * One, two and three of the three independent masters stopped under steady load, and started again:
 * on the rungs that need all of them, a majority, and one other Redis.
 */
import type { Facts } from '../../audit/facts.ts';
import type { Finding } from '../../audit/finding.ts';
import { countBy } from '../../grouping.ts';
import { defaultShape } from '../environment/lab.ts';
import { auditAll, factsNotHeld } from './audited.ts';
import type { Drill, DrillResult } from './drill.ts';
import { judgedFindings, type Outage, outageReasons, phasesOf } from './outages.ts';
import { faultOf, lockServiceOf, outagesOf, partsOf, sellThrough } from './sell-through.ts';

const rungs = ['multilock', 'redlock', 'redis-atomic'] as const;

export const stopMasters: Drill = {
  about: '1, 2 and 3 lock servers stopped and started while multilock, redlock, redis-atomic sell',
  async run(lab, { seed, minutes, signal, recorder }) {
    const targets = rungs.map((rung) => {
      const plans = outagesOf(lockServiceOf(rung), 'stopped', seed);
      return { rung, plans };
    });
    const parts = targets.reduce((sum, { plans }) => sum + partsOf(plans), 0);
    const partMs = (minutes * 60_000) / parts;
    await lab.ensure(defaultShape);
    const outages: Outage[] = [];
    const facts: Facts[] = [];
    for (const target of targets) {
      const title = `stop-masters, seed ${seed}`;
      const sale = await sellThrough(lab, { ...target, partMs, seed, title, signal, recorder });
      outages.push(...sale.outages);
      facts.push(sale.facts);
    }
    return judge(outages, facts);
  },
};

function judge(outages: readonly Outage[], facts: readonly Facts[]): DrillResult {
  const audits = auditAll(facts);
  const findings = audits.flatMap(judgedFindings);
  const { verdict, reasons } = outageReasons(outages, findings);
  const phases = outages.flatMap(phasesOf);
  const count = (wanted: readonly Pick<Finding, 'count'>[]) =>
    wanted.reduce((sum, each) => sum + each.count, 0);
  const figures = {
    attempts: facts.reduce((sum, { attempts = [] }) => sum + attempts.length, 0),
    violations: count(findings.map(({ finding }) => finding).filter(isViolated)),
    latestResumptionMs: Math.max(0, ...phases.map(({ resumedAfterMs }) => resumedAfterMs ?? 0)),
  };
  const injected = outages.flatMap(({ servers, away }) => servers.map(faultOf[away]));
  const faults = countBy(injected.map(({ name }) => name));
  return { verdict, reasons, figures, phases, faults, facts: factsNotHeld(audits) };
}

const isViolated = ({ verdict }: Finding): boolean => verdict === 'violated';
