/**
 * The final rung under fire: purchases through nginx, while instances, workers, Redis, the database
 * and nginx are killed and paused at random moments. Then everything is healed and drained, and the
 * orders are counted by SQL and audited. Two sequences of faults run at the same time: one for the
 * stores and nginx, one for the processes of the service. No server is in both, so that each fault
 * has its own undo.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { Facts } from '../../service/audit/facts.ts';
import type { Lab } from '../environment/lab.ts';
import { faultOn } from '../faults/faults.ts';
import { countBy } from '../stage/counts.ts';
import type { Judged } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import { createVoucher } from '../workload/sale.ts';
import { type Purchase, planPurchases } from '../workload/steady-purchases.ts';
import type { Drill } from './drill.ts';
import { thereWasNo } from './expectations.ts';
import {
  judgeUnderFire,
  type Sale,
  type StormFault,
  shapeUnderFire,
  underFire,
} from './under-fire.ts';

const rung = 'lua-stream';
const perSecond = 400;
/** More users than stock, so that every voucher also sells out under fire. */
const users = 600;
const stock = 500;
/** After everything is healed. */
const finishWithinMs = 60_000;

/** Servers that do the same; each fault picks one of them. */
export type Role = readonly [name: string, servers: readonly string[]];

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
    // No history: it is about locks.
    const settings = { ...shapeUnderFire.settings, HISTORY_FOLDER: '' };
    await stage.serve({ ...shapeUnderFire, settings });
    const purchases = await plan(stage, seed, minutes * 60 * perSecond);
    const load = { name: rung, perSecond, purchases, finishWithinMs };
    const sequences = [
      stormFaults(storeRoles(stage.lab), seed),
      stormFaults(serviceRoles, seed + 1),
    ];
    const storm = (over: AbortSignal) => {
      const signal = AbortSignal.any([stage.signal, over]);
      return sleep(minutes * 60_000, undefined, { signal }).catch(() => {});
    };
    const { kinds } = await stage.during(load, () => underFire(stage, sequences, storm));
    const tried = new Set(stage.tries.map(({ voucherId }) => voucherId));
    const facts = await stage.allFacts([...tried]);
    return judgeKillStorm({ purchases, tries: stage.tries, facts }, kinds);
  },
};

async function plan(stage: Stage, seed: number, count: number): Promise<Purchase[]> {
  const sale = { title: `kill-storm, seed ${seed}`, stock, rung };
  const purchases: Purchase[] = [];
  while (purchases.length < count) {
    stage.signal.throwIfAborted();
    // No instance has read it: the first one to sell it must, also while the database is away.
    const voucherId = await createVoucher(stage.lab, sale);
    purchases.push(...planPurchases(voucherId, users, seed));
  }
  return purchases;
}

const verbs = ['kill', 'pause'] as const;
/** A pause may outlast the time after which another worker claims the orders. */
const longestMs = { kill: 1_500, pause: 6_000 } as const;

/** Every kind of fault once in a random order, then all again, without end. */
export function* stormFaults(roles: readonly Role[], seed: number): Generator<StormFault> {
  const generator = xoroshiro128plus(seed);
  const upTo = (most: number) => uniformInt(generator, 0, most);
  for (;;) {
    const kinds = verbs.flatMap((verb) => roles.map((role) => [verb, ...role] as const));
    while (kinds.length > 0) {
      const at = upTo(kinds.length - 1);
      const [[verb, name, servers]] = kinds.splice(at, 1) as [(typeof kinds)[number]];
      const server = servers[upTo(servers.length - 1)] ?? name;
      // Most faults are short, so that many happen; few are long.
      const forMs = 200 + Math.round((upTo(1_000) / 1_000) ** 3 * longestMs[verb]);
      const fault = faultOn(verb, server);
      yield { fault, kind: `${verb} ${name}`, afterMs: upTo(1_000), forMs };
    }
  }
}

/** Every part must have been killed and paused, or the storm proves nothing about it. */
export function judgeKillStorm(sale: Sale<readonly Facts[]>, kinds: readonly string[]): Judged {
  const roles = ['redis-main', 'database', 'nginx', 'instance', 'worker'];
  const all = roles.flatMap((role) => verbs.map((verb) => `${verb} ${role}`));
  const missed = all.filter((kind) => !kinds.includes(kind));
  const missing = missed.map(thereWasNo);
  return { ...judgeUnderFire([sale], { missing }), faults: countBy(kinds) };
}
