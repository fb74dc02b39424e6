/** Plays a trial on the service that the lab runs now, and judges it. */
import type { ladder } from '../../ladder/rungs.ts';
import type { Lab } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { putOnSale } from '../workload/create-voucher.ts';
import { trialTitle } from './forget-trials.ts';
import { judgeTrial, type TrialFinding } from './judge-trial.ts';
import type { Trial } from './trial.ts';
import { TrialStage } from './trial-stage.ts';
import type { TrialName } from './trials.ts';

const rung: keyof typeof ladder = 'lua-stream';

/** Two workers, so that one can claim what the other left. They claim soon: trials are short. */
export const trialShape: ServiceShape = {
  instances: 2,
  balancer: 'nginx',
  settings: { ORDER_WORKERS: '2', CLAIM_IDLE_MS: '500' },
};

export interface TrialResult {
  readonly seconds: number;
  readonly findings: readonly TrialFinding[];
}

/** @throws TrialNotPlayed, DeadlinePassed: the moment that decides was not reached. */
export async function runTrial(lab: Lab, name: TrialName, trial: Trial): Promise<TrialResult> {
  const startedAt = performance.now();
  return withConnections(lab, async (connections) => {
    connections.labRedis();
    const { stock } = trial;
    const sale = { title: `${trialTitle}${name}`, stock, rung };
    const { instances } = lab.shape;
    const secret = connections.config.TOKEN_SECRET;
    const voucherId = await putOnSale(lab.baseUrl, secret, instances, sale);
    await connections.ready();
    const stage = new TrialStage({ lab, connections, voucherId });
    try {
      await trial.play(stage);
      await stage.mend();
      const isSettled = await stage.settles();
      const findings = judgeTrial(await stage.facts(), isSettled, trial);
      return { findings, seconds: (performance.now() - startedAt) / 1_000 };
    } finally {
      await stage.end();
    }
  });
}
