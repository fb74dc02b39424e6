/** Redis forgets its scripts while the final rung sells: nobody may notice. */
import { flushScripts } from '../faults/redis.ts';
import { planPurchases } from '../workload/steady-purchases.ts';
import { auditAll } from './audited.ts';
import type { Drill } from './drill.ts';
import { judgeAudits, unless } from './expectations.ts';
import { isSale } from './try-times.ts';

const rung = 'lua-stream';
const users = 400;

export const forgottenScripts: Drill = {
  about: {
    en: 'Redis forgets its scripts while lua-stream sells: nobody may notice',
    zh: 'lua-stream 秒杀期间 Redis 忘记所有脚本：应该没有人察觉',
  },
  takesMinutes: 0.5,
  async play(stage, { seed }) {
    await stage.serve({ instances: 2, balancer: 'nginx' });
    const voucherId = await stage.putOnSale({ title: 'forgotten-scripts', stock: users, rung });
    const purchases = planPurchases(voucherId, users, seed);
    const load = { name: rung, perSecond: 80, purchases, finishWithinMs: 30_000 };
    await stage.during(load, async (tries) => {
      await stage.until('100 sales', 10_000, () => tries.filter(isSale).length >= 100);
      const undo = await stage.inject(flushScripts('redis-main'));
      await undo();
    });
    const audits = auditAll([await stage.facts(voucherId)]);
    const sold = audits.reduce((sum, { facts }) => sum + facts.mysql.orders.length, 0);
    const lacking = unless(sold === users, {
      en: `${sold} of ${users} users have an order`,
      zh: `${users} 个用户里 ${sold} 个有订单`,
    });
    return { ...judgeAudits(audits, { broken: [lacking], missing: [] }), figures: { sold } };
  },
};
