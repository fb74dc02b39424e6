/**
 * The final rung under fire: purchases through nginx, while instances, workers, Redis, the database
 * and nginx are killed and paused at random moments. Then everything is healed and drained, and the
 * orders are counted by SQL and audited.
 */

import type { Lab } from '../environment/lab.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { countBy } from '../stage/count-by.ts';
import type { Stage } from '../stage/stage.ts';
import { createVoucher } from '../workload/create-voucher.ts';
import { type Purchase, planPurchases } from '../workload/steady-purchases.ts';
import { auditAll } from './audited.ts';
import type { Drill } from './drill.ts';
import { playStorm, type Role, stormFaults } from './storm-faults.ts';
import { stormFigures, stormReasons } from './storm-figures.ts';

const rung = 'lua-stream';
const perSecond = 400;
/** More users than stock, so that every voucher also sells out under fire. */
const users = 600;
const stock = 500;
/** After everything is healed. */
const finishWithinMs = 60_000;

/** Two workers, so that one can claim what the other left. No history: it is about locks. */
export const stormShape: ServiceShape = {
  instances: 4,
  balancer: 'nginx',
  settings: { ORDER_WORKERS: '2', HISTORY_FOLDER: '' },
};

const storeRoles = ({ database }: Lab): Role[] => [
  ['redis-main', ['redis-main']],
  ['database', [database]],
  ['nginx', ['nginx']],
];
const serviceRoles: readonly Role[] = [
  ['instance', ['api-1', 'api-2', 'api-3', 'api-4']],
  ['worker', ['api-worker-1', 'api-worker-2']],
];

export const killStorm: Drill = {
  about: {
    en: 'kills and pauses of every part of the service while lua-stream sells',
    zh: 'lua-stream 下单时，服务的每个部分被杀死或暂停',
  },
  takesMinutes: 1,
  async play(stage, { seed, minutes }) {
    await stage.serve(stormShape);
    const purchases = await plan(stage, seed, minutes * 60 * perSecond);
    const load = { name: rung, perSecond, purchases, finishWithinMs };
    const kinds = await stage.during(load, () => storms(stage, seed, minutes * 60_000));
    const tried = new Set(stage.tries.map(({ voucherId }) => voucherId));
    const facts = await stage.allFacts([...tried]);
    const figures = stormFigures(purchases, stage.tries, facts);
    const audits = auditAll(facts);
    const faults = countBy(kinds);
    return { ...stormReasons(figures, faults, audits), figures: { ...figures }, faults };
  },
};

async function plan(stage: Stage, seed: number, count: number): Promise<Purchase[]> {
  const { baseUrl, tokenSecret } = stage.lab;
  const sale = { title: `kill-storm, seed ${seed}`, stock, rung };
  const purchases: Purchase[] = [];
  while (purchases.length < count) {
    stage.signal.throwIfAborted();
    // No instance has read it: the first one to sell it must, also while the database is away.
    const voucherId = await createVoucher(baseUrl, tokenSecret, sale);
    purchases.push(...planPurchases(voucherId, users, seed));
  }
  return purchases;
}

/** The lab is healed before the last purchases end. @returns the kinds of the faults. */
async function storms(stage: Stage, seed: number, forMs: number): Promise<string[]> {
  const over = new AbortController();
  const end = setTimeout(() => over.abort(), forMs);
  const both = [
    playStorm(stage, stormFaults(storeRoles(stage.lab), seed), over.signal),
    playStorm(stage, stormFaults(serviceRoles, seed + 1), over.signal),
  ];
  try {
    const kinds = await Promise.all(both);
    await stage.lab.heal();
    return kinds.flat();
  } finally {
    clearTimeout(end);
    over.abort(); // When one fails, the other would go on without end.
    await Promise.allSettled(both);
  }
}
