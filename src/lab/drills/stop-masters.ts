/**
 * One, two and three of the three independent masters stopped under steady load, and started again:
 * on the rungs that need all of them, a majority, and one other Redis.
 */
import type { Facts } from '../../service/audit/facts.ts';
import type { Finding } from '../../service/audit/finding.ts';
import { defaultShape } from '../environment/lab.ts';
import type { Judged } from '../stage/result.ts';
import { auditAll, factsNotHeld } from './audited.ts';
import type { Drill } from './drill.ts';
import { conclusionsOf, judgedFindings, type Outage, outageReasons, phasesOf } from './outages.ts';
import { phaseTable } from './phases.ts';
import { lockServiceOf, outagesOf, partsOf, sellThrough } from './sell-through.ts';

const rungs = ['multilock', 'redlock', 'redis-atomic'] as const;

export const stopMasters: Drill = {
  about: {
    en: '1, 2 and 3 lock servers stopped and started while multilock, redlock, redis-atomic sell',
    zh: 'multilock、redlock、redis-atomic 销售时，停止并启动 1、2、3 个锁服务器',
  },
  async play(stage, { seed, minutes }) {
    const targets = rungs.map((rung) => {
      const plans = outagesOf(lockServiceOf(rung), 'stopped', seed);
      return { rung, plans };
    });
    const parts = targets.reduce((sum, { plans }) => sum + partsOf(plans), 0);
    const partMs = (minutes * 60_000) / parts;
    await stage.serve(defaultShape);
    const outages: Outage[] = [];
    const facts: Facts[] = [];
    for (const target of targets) {
      const title = `stop-masters, seed ${seed}`;
      const sale = await sellThrough(stage, { ...target, partMs, seed, title });
      outages.push(...sale.outages);
      facts.push(sale.facts);
    }
    return judge(outages, facts);
  },
};

function judge(outages: readonly Outage[], facts: readonly Facts[]): Judged {
  const audits = auditAll(facts);
  const findings = audits.flatMap(judgedFindings);
  const phases = outages.flatMap(phasesOf);
  const count = (wanted: readonly Pick<Finding, 'count'>[]) =>
    wanted.reduce((sum, each) => sum + each.count, 0);
  const figures = {
    attempts: facts.reduce((sum, { attempts = [] }) => sum + attempts.length, 0),
    violations: count(findings.map(({ finding }) => finding).filter(isViolated)),
    latestResumptionMs: Math.max(0, ...phases.map(({ resumedAfterMs }) => resumedAfterMs ?? 0)),
  };
  const judged = outageReasons(outages, findings);
  const conclusions = conclusionsOf(outages);
  return {
    ...judged,
    conclusions,
    figures,
    tables: [phaseTable(phases)],
    facts: factsNotHeld(audits),
  };
}

const isViolated = ({ verdict }: Finding): boolean => verdict === 'violated';
