/**
 * An operator pauses a sale, and the master of Redis dies before a replica has the pause. With
 * ORDER_DURABILITY=replica the operator is not told that it is done, and it is done again on the
 * new master. With a weaker one it is lost: then `reconcile` says so, and a repair brings it back.
 */

import type { Durability } from '../../service/config.ts';
import { changesOf } from '../../service/orders/change-journal.ts';
import { reconcile } from '../../service/orders/reconcile/reconcile.ts';
import { repair } from '../../service/orders/reconcile/repair.ts';
import type { Bilingual } from '../../texts/texts.ts';
import { hasAllOf } from '../environment/replication.ts';
import { sum } from '../stage/counts.ts';
import type { Stage } from '../stage/stage.ts';
import { type Column, inColumns } from '../stage/table.ts';
import { changeOnce } from '../workload/sale.ts';
import { auditAll } from './audited.ts';
import type { Drill } from './drill.ts';
import { allOfName, judgeAudits, unless, when } from './expectations.ts';
import { cutPreferred } from './promote-behind.ts';

interface Cell {
  readonly rung: string;
  readonly durability: Durability;
}

const cells: readonly Cell[] = (['replica', 'always'] as const).flatMap((durability) =>
  ['lua-stream', 'lua-buckets'].map((rung) => ({ rung, durability })),
);
const stock = 50;
const withinMs = 30_000;
const buyers = 5;

/** What one failover did to one pause. */
interface Failover extends Cell {
  /** The answer to the operator, before the master died. */
  readonly status: number;
  /** Sold on the new master before anybody repaired it. */
  readonly soldAfter: number;
  /** Whether `reconcile` named the change, where something was sold. */
  readonly isFound: boolean;
  /** At the end, whether a buyer is told that the sale is paused. */
  readonly isPaused: boolean;
  readonly state: string;
}

export const pausedFailover: Drill = {
  about: {
    en: 'an operator pauses a sale, and the master of Redis dies before its replica has the pause',
    zh: '运营人员暂停秒杀，副本还没有收到，Redis 主库就宕机',
  },
  takesMinutes: 1,
  async play(stage) {
    const failovers: Failover[] = [];
    const facts = [];
    for (const cell of cells) {
      const settings = { ORDER_DURABILITY: cell.durability };
      await stage.serve({ instances: 2, balancer: 'nginx', network: 'sentinel', settings });
      const sale = { title: `${cell.durability}, ${cell.rung}`, stock, rung: cell.rung };
      const voucherId = await stage.putOnSale(sale);
      failovers.push(await failOver(stage, cell, voucherId).finally(() => stage.lab.heal()));
      facts.push(await stage.facts(voucherId));
    }
    const wrong = { broken: failovers.flatMap(violations), missing: failovers.flatMap(missing) };
    return {
      ...judgeAudits(auditAll(facts), wrong),
      figures: {
        failovers: failovers.length,
        toldDone: failovers.filter(({ status }) => status === 200).length,
        soldAfterPause: sum(failovers.map(({ soldAfter }) => soldAfter)),
      },
      tables: [{ title, legend, ...inColumns(failovers, columns) }],
    };
  },
};

async function failOver(stage: Stage, cell: Cell, voucherId: string): Promise<Failover> {
  const { lab } = stage;
  await stage.until('a sale', withinMs, async () => (await soldTo(stage, voucherId, 1)) > 0);
  await stage.until('the replica to have it', withinMs, () =>
    hasAllOf(lab.portOf('redis-replica'), lab.portOf('redis-main')),
  );
  const promote = await cutPreferred(stage);
  const status = await changeOnce(lab, voucherId, { paused: true });
  await promote();
  const redis = stage.connections.redis('admin');
  const isAtMaster = async () => (await redis.role())[0] === 'master';
  await stage.until('the drill to reach the new master', withinMs, isAtMaster);
  const stateOf = async () => (await changesOf(stage.connections.mysql(), voucherId))[0]?.state;
  if (status !== 200)
    await stage.until('the change to be done', withinMs, async () => (await stateOf()) === 'done');
  const soldAfter = await soldTo(stage, voucherId, 101);
  const found = soldAfter > 0 ? await changeIsFound(stage, voucherId) : false;
  if (soldAfter > 0) await repair(stage.connections, voucherId);
  const isPaused = (await finalReason(stage, voucherId, 201)) === 'sale-paused';
  return { ...cell, status, soldAfter, isFound: found, isPaused, state: (await stateOf()) ?? '' };
}

async function changeIsFound(stage: Stage, voucherId: string): Promise<boolean> {
  const { vouchers } = await reconcile(stage.connections, voucherId);
  return vouchers.some(({ differences }) => differences.some(({ kind }) => kind === 'change'));
}

/** How many of some users, from this one on, buy; each asks until the answer is final. */
async function soldTo(stage: Stage, voucherId: string, firstUser: number): Promise<number> {
  let sold = 0;
  for (let user = firstUser; user < firstUser + buyers; user++)
    if ((await finalReason(stage, voucherId, user)) === 'accepted') sold += 1;
  return sold;
}

/** `accepted`, or why not. While Redis is away, a request is sent again with the same name. */
async function finalReason(stage: Stage, voucherId: string, user: number): Promise<string> {
  const purchase = { voucherId, userId: String(user), requestId: `user-${user}` };
  let last = '';
  await stage.until('a final answer', withinMs, async () => {
    const { outcome, reason } = await stage.buy(purchase);
    last = outcome === 'refused' ? (reason ?? '') : outcome;
    return last === 'accepted' || !['not-ready', 'unknown'].includes(last);
  });
  return last;
}

const nameOf = ({ durability, rung }: Cell): Bilingual => ({
  en: `${durability}, ${rung}`,
  zh: `${durability}，${rung}`,
});

function violations(failover: Failover): Bilingual[] {
  const { durability, status, soldAfter, isFound, isPaused, state } = failover;
  const keeps = durability === 'replica';
  return allOfName(nameOf(failover), [
    when(keeps && status === 200, {
      en: 'the operator was told "done", and no replica had the pause',
      zh: '运营人员得到“已完成”，却没有副本收到暂停',
    }),
    when(keeps && soldAfter > 0, {
      en: `${soldAfter} were sold after it was done`,
      zh: `完成之后还卖出 ${soldAfter} 张`,
    }),
    when(!keeps && soldAfter > 0 && !isFound, {
      en: 'reconcile did not say that the change is lost',
      zh: 'reconcile 没有报告修改丢失',
    }),
    unless(isPaused, { en: 'the sale was never paused again', zh: '秒杀没有重新暂停' }),
    unless(state === 'done', { en: `the journal says ${state}`, zh: `修改日志里是 ${state}` }),
  ]);
}

/** Otherwise nothing was lost, and nothing was proven. */
function missing(failover: Failover): Bilingual[] {
  const { durability, status, soldAfter } = failover;
  if (durability === 'replica') return [];
  return allOfName(nameOf(failover), [
    unless(status === 200, {
      en: `the operator was answered ${status}`,
      zh: `运营人员得到的响应是 ${status}`,
    }),
    when(status === 200 && soldAfter === 0, {
      en: 'the failover did not lose the pause',
      zh: '主从切换没有丢掉暂停',
    }),
  ]);
}

const title = {
  en: 'A pause, and a failover that may lose it',
  zh: '暂停，和可能丢掉它的主从切换',
};
const legend = {
  PATCH: { en: 'what the operator who paused was answered', zh: '暂停秒杀的运营人员得到的响应' },
  found: { en: 'reconcile said that the pause is lost', zh: 'reconcile 报告了暂停丢失' },
} as const;

const yesOrNo = (isSo: boolean): Bilingual =>
  isSo ? { en: 'yes', zh: '是' } : { en: 'NO', zh: '否！' };

const columns: readonly Column<Failover>[] = [
  [{ en: 'durability', zh: '持久化' }, ({ durability }) => durability],
  [{ en: 'rung', zh: '方案' }, ({ rung }) => rung],
  ['PATCH', ({ status }) => status],
  [{ en: 'sold after', zh: '之后卖出' }, ({ soldAfter }) => soldAfter],
  [
    { en: 'found', zh: '对账发现' },
    ({ soldAfter, isFound }) => (soldAfter > 0 ? yesOrNo(isFound) : '–'),
  ],
  [{ en: 'paused at the end', zh: '最后已暂停' }, ({ isPaused }) => yesOrNo(isPaused)],
];
