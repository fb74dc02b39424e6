/**
 * The locks with messages, under faults, without a sale: processes contend for the same keys, and a
 * witness that knows no lock counts who was inside with whom.
 */
import type { Judgement } from '../lock-storm/judge.ts';
import { ourContenders, stormKeys } from '../lock-storm/kinds.ts';
import { lockStorm } from '../lock-storm/storm.ts';
import type { Judged } from '../stage/result.ts';
import type { Drill } from './drill.ts';
import { drillVerdict, unless } from './expectations.ts';

/** With fewer, the contenders stood still more than they contended. */
const sectionsMin = 200;

export const lockStormDrill: Drill = {
  about: {
    en: 'redis-reentrant and redis-fair: three processes want the same locks while connections are cut, scripts forgotten, processes stopped and killed, and Redis is killed and restarted',
    zh: 'redis-reentrant 和 redis-fair：三个进程争同样的锁，同时断开连接、忘记脚本、停止和杀死进程、杀死并重启 Redis',
  },
  takesMinutes: 1,

  async play(stage, { seed, minutes }) {
    const kinds = [ourContenders(3, stormKeys)];
    const storm = { seed, stormMs: minutes * 60_000, keys: stormKeys, kinds };
    return judgedStorm(await lockStorm(stage, storm));
  },
};

export function judgedStorm(storm: Judgement): Judged {
  const { violations, sections, allowedOverlaps, lostUpdates, lostLeases, grants } = storm;
  const broken = violations.map((text) => ({ en: text, zh: text }));
  const quiet = unless(sections >= sectionsMin, {
    en: `${sections} sections only, of at least ${sectionsMin}`,
    zh: `临界区只进入了 ${sections} 次，至少要 ${sectionsMin} 次`,
  });
  return {
    ...drillVerdict([], { broken, missing: [quiet] }),
    figures: { sections, allowedOverlaps, lostUpdates, lostLeases },
    tables: [
      {
        title: { en: 'Who was granted a lock, of those who asked', zh: '申请锁的都有谁，谁拿到了' },
        head: [
          { en: 'process, key and way to ask', zh: '进程、key 和申请方式' },
          { en: 'granted', zh: '拿到' },
        ],
        rows: Object.entries(grants),
      },
    ],
    facts: [],
  };
}
