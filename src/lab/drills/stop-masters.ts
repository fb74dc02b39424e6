/**
 * One, two and three of the three independent masters stopped under steady load, and started again:
 * on the rungs that need all of them, a majority, and one other Redis.
 */
import { defaultShape } from '../environment/lab.ts';
import { auditAll, countViolations } from './audited.ts';
import type { Drill } from './drill.ts';
import { judgeOutages, type Played, phasesAround } from './expectations.ts';
import {
  conclusionsOf,
  judgedFindings,
  type LockOutage,
  lockServiceOf,
  outagesOf,
  partsOfOutage,
  sellThrough,
} from './lock-outages.ts';
import { phaseTable } from './phases.ts';

const rungs = ['multilock', 'redlock', 'redis-atomic'] as const;
/** The claim of the drill: sales are back so soon after the servers. */
const soldAgainWithinMs = 2_000;

export const stopMasters: Drill = {
  about: {
    en: '1, 2 and 3 lock servers stopped and started while multilock, redlock, redis-atomic sell',
    zh: 'multilock、redlock、redis-atomic 下单时，停止并启动 1、2、3 个锁服务器',
  },
  takesMinutes: 1,
  async play(stage, { seed, minutes }) {
    const targets = rungs.map((rung) => {
      const plans = outagesOf(lockServiceOf(rung), 'stopped', seed);
      return { rung, plans };
    });
    const outages = targets.flatMap(({ plans }) => plans).length;
    const partMs = (minutes * 60_000) / (outages * partsOfOutage);
    await stage.serve(defaultShape);
    const loads: Played<LockOutage>[] = [];
    for (const target of targets) {
      const title = `stop-masters, seed ${seed}`;
      loads.push(await sellThrough(stage, { ...target, partMs, soldAgainWithinMs, seed, title }));
    }
    const seen = loads.flatMap((load) => load.seen);
    const phases = seen.flatMap((each) => phasesAround(each.row.rung, each));
    const audits = auditAll(loads.map(({ facts }) => facts));
    return {
      ...judgeOutages(loads, { audits, judged: judgedFindings }),
      conclusions: conclusionsOf(seen),
      figures: {
        attempts: loads.reduce((sum, { facts }) => sum + (facts.attempts ?? []).length, 0),
        violations: countViolations(audits.flatMap(judgedFindings)),
        latestResumptionMs: Math.max(0, ...phases.map(({ resumedAfterMs }) => resumedAfterMs ?? 0)),
      },
      tables: [phaseTable(phases)],
    };
  },
};
