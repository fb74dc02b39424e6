/** Plays a trial on the service that the lab runs now, and judges it. */
import type { ladder } from '../../service/ladder/rungs.ts';
import type { Lab } from '../environment/lab.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { withStage } from '../stage/stage.ts';
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

/** @throws TRIAL_NOT_PLAYED, DEADLINE_PASSED: the moment that decides was not reached. */
export async function runTrial(
  lab: Lab,
  name: TrialName,
  trial: Trial,
  signal: AbortSignal,
): Promise<TrialResult> {
  const startedAt = performance.now();
  return withStage(lab, signal, async (stage) => {
    await stage.connect(); // A mutant may not be ready, by its own word.
    const sale = { title: `${trialTitle}${name}`, stock: trial.stock, rung };
    const own = new TrialStage(stage, await stage.putOnSale(sale));
    await trial.play(own);
    await own.mend();
    const isSettled = await own.settles();
    const findings = judgeTrial(await own.facts(), isSettled, trial);
    return { findings, seconds: (performance.now() - startedAt) / 1_000 };
  });
}
