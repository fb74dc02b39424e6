/**
 * The final rung under fire: purchases through nginx, while instances, workers, Redis, the database
 * and nginx are killed and paused at random moments. Then everything is healed and drained, and the
 * orders are counted by SQL and audited.
 */
import type { Facts } from '../../audit/facts.ts';
import { countBy, groupBy } from '../../grouping.ts';
import type { Lab } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { createVoucher } from '../workload/create-voucher.ts';
import { allDrained } from '../workload/drained.ts';
import { type Purchase, planPurchases, type Try } from '../workload/steady-purchases.ts';
import { auditAll, factsNotHeld } from './audited.ts';
import type { Drill, DrillOptions, DrillResult } from './drill.ts';
import { buyRecorded } from './recorded.ts';
import { playStorm, type Role, stormFaults } from './storm-faults.ts';
import { stormFigures, stormReasons } from './storm-figures.ts';

const stormRung = 'lua-stream';
const purchasesPerSecond = 400;
/** More users than stock, so that every voucher also sells out under fire. */
const users = 600;
const stock = 500;
/** After everything is healed. */
const resolveWithinMs = 60_000;

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
  about: 'kills and pauses of every part of the service while lua-stream sells',
  async run(lab, options) {
    await lab.ensure(stormShape);
    const purchases = await planStorm(lab, options);
    const { tries, faults } = await storm(lab, purchases, options);
    const facts = await collect(lab, tries);
    return judge(purchases, tries, facts, faults);
  },
};

async function planStorm(lab: Lab, { seed, minutes, signal }: DrillOptions): Promise<Purchase[]> {
  const secret = lab.tokenSecret;
  const purchases: Purchase[] = [];
  while (purchases.length < minutes * 60 * purchasesPerSecond) {
    signal.throwIfAborted();
    const title = `kill-storm, seed ${seed}`;
    const voucherId = await createVoucher(lab.baseUrl, secret, {
      title,
      stock,
      rung: stormRung,
    });
    purchases.push(...planPurchases(voucherId, users, seed));
  }
  return purchases;
}

interface Storm {
  readonly tries: readonly Try[];
  readonly faults: readonly string[];
}

/** Purchases and faults at the same time. The lab is healed before the last purchases end. */
async function storm(
  lab: Lab,
  purchases: readonly Purchase[],
  { seed, minutes, signal, recorder }: DrillOptions,
): Promise<Storm> {
  const giveUp = new AbortController();
  const load = {
    ...{ baseUrl: lab.baseUrl, tokenSecret: lab.tokenSecret },
    ...{ purchasesPerSecond, giveUp: giveUp.signal },
  };
  const buying = buyRecorded(stormRung, purchases, load, recorder);
  const over = new AbortController();
  const end = setTimeout(() => over.abort(), minutes * 60_000);
  const until = AbortSignal.any([signal, over.signal]);
  const play = (roles: readonly Role[], own: number) =>
    playStorm(lab, stormFaults(roles, own), until, recorder);
  const storms = [play(storeRoles(lab), seed), play(serviceRoles, seed + 1)];
  try {
    const faults = await Promise.all(storms);
    await lab.heal();
    signal.throwIfAborted();
    const late = setTimeout(() => giveUp.abort(), resolveWithinMs);
    const tries = await buying.finally(() => clearTimeout(late));
    return { tries, faults: faults.flat() };
  } finally {
    clearTimeout(end);
    over.abort();
    giveUp.abort();
    await Promise.allSettled([...storms, buying]);
  }
}

async function collect(lab: Lab, tries: readonly Try[]): Promise<Facts[]> {
  const attempts = groupBy(tries, ({ voucherId }) => voucherId);
  const facts = await withConnections(lab, (connections) =>
    allDrained(connections, [...attempts.keys()]),
  );
  return facts.map((each) => ({ ...each, attempts: attempts.get(each.voucherId) ?? [] }));
}

function judge(
  purchases: readonly Purchase[],
  tries: readonly Try[],
  facts: readonly Facts[],
  faults: readonly string[],
): DrillResult {
  const counts = countBy(faults);
  const figures = stormFigures(purchases, tries, facts);
  const audits = auditAll(facts);
  const { verdict, reasons } = stormReasons(figures, counts, audits);
  return { verdict, reasons, figures: { ...figures }, faults: counts, facts: factsNotHeld(audits) };
}
