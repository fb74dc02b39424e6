/** The commands that the page offers, too: what a race, a drill, a break and a fault take. */
import { z } from 'zod';
import { isRungName, type RungName } from '../../service/ladder/rungs.ts';
import { flag, wholeNumber } from '../../service/operate/words.ts';
import { arrivals } from '../by-hand/break-choice.ts';
import { handVerbs, usualMs } from '../by-hand/fault-script.ts';
import { drillNames, isDrillName } from '../drills/drills.ts';
import { labError } from '../errors.ts';
import { choicesIn, lettersMax } from '../play/letters.ts';
import { isRaceName, raceNames } from '../play/schedules.ts';
import {
  database,
  json,
  knownRung,
  language,
  list,
  rung,
  seedNumber,
  someMinutes,
  times,
  unknownRung,
} from './options.ts';
import { commandRow, type Entry, entry, named } from './row.ts';

const choiceLetters = z
  .string()
  .transform((text) => text.replaceAll(/[\s,]/g, '').toUpperCase())
  .refine((letters) => choicesIn(letters) !== null && letters.length <= lettersMax, {
    error:
      'They are the letters of the buyers, A to D. X before one kills its process, P pauses it, R ' +
      'resumes it, E ends its lease, U loses its answer: AAEAB. S1 to S3 stop a Redis master, H1 to ' +
      'H3 start it again. W is the order worker: XW kills it, SW stops it, HW starts it.',
  });

/** Without a rung it is true: all of them. */
const rungOrAll = z.custom<RungName | true>(
  (value) => value === true || (typeof value === 'string' && isRungName(value)),
  { params: { refusal: unknownRung } },
);

export const raceRow = commandRow({
  name: 'race',
  about: {
    en: 'play a famous race step by step through nginx, on the rung with the bug',
    zh: '把一个著名的竞态一步步走一遍：经过 nginx，在有这个 bug 的方案上',
  },
  arguments: {
    name: {
      schema: named(isRaceName, (name) => labError('UNKNOWN_RACE', name, raceNames)).optional(),
      en: 'a name from --list',
      zh: '--list 列出的名字',
    },
  },
  options: {
    list,
    choices: {
      schema: choiceLetters.optional(),
      value: '<lanes>',
      en:
        'instead: move the buyers of --rung by hand: AABB; W is the order worker; X kills, P and R pause ' +
        'and resume, E ends a lease, U loses an answer (AAEAB); S2 and H2 stop and start redis-2',
      zh:
        '不用现成的竞态，亲手移动 --rung 上的买家：AABB；W 是订单消费者；X 杀进程，P 暂停，R 恢复，' +
        'E 让租约到期，U 丢掉响应（AAEAB）；S2 停 redis-2，H2 再启动它',
      conflicts: ['list'],
    },
    rung: {
      schema: knownRung.optional(),
      value: '<rung>',
      en: 'play it on this rung instead',
      zh: '换到这个方案上',
    },
    times: times(1_000),
    everyCheckpoint: {
      schema: flag,
      en: 'with --choices: a buyer stops at every checkpoint',
      zh: '和 --choices 一起用：买家在每个检查点都停',
    },
    commands: {
      schema: flag,
      en: 'with --choices: what each of them sends to Redis and MySQL',
      zh: '和 --choices 一起用：每一步发给 Redis 和 MySQL 的命令',
    },
    allOrders: {
      schema: rungOrAll.optional(),
      value: '[rung]',
      en: 'instead: every interleaving of two buyers (no rung: of all)',
      zh: '不用现成的竞态，把两个买家的每一种顺序都走一遍（不写方案就是全部）',
      conflicts: ['list', 'choices', 'rung', 'times'],
    },
    language,
    database,
    json,
  },
});

/** Of a load that is broken by hand, or at given times. */
const load = {
  beside: entry({
    schema: knownRung.optional(),
    value: '<rung>',
    en: 'the same purchases on a second rung, at the same moments',
    zh: '在另一个方案上同时下同样的单',
  }),
  arrivals: entry({
    schema: z.enum(arrivals).default('steady'),
    value: '<kind>',
    en: 'how buyers come; with k6, it is k6/failover.js',
    zh: '买家怎么来；选 k6 就是跑 k6/failover.js',
  }),
  perSecond: entry({
    schema: wholeNumber(1, 5_000).default(100),
    en: 'purchases a second, on each rung',
    zh: '每个方案每秒下多少单',
    repeat: 'always',
  }),
};
/** In a drill that has no name. */
const withOn = <Schema extends z.ZodType>(each: Entry<Schema>): Entry<Schema> => ({
  ...each,
  en: `with --on: ${each.en}`,
  zh: `和 --on 一起用：${each.zh}`,
});

export const usualDrill = 'kill-storm';

export const drillRow = commandRow({
  name: 'drill',
  about: {
    en: 'load, faults and an audit: what the faults cost, and what was lost',
    zh: '压测、故障注入、审计：故障的代价是什么，丢了什么',
  },
  arguments: {
    name: {
      schema: named(isDrillName, (name) => labError('UNKNOWN_DRILL', name, drillNames)).optional(),
      en: `a name from \`lockstep drill --list\` (default: ${usualDrill})`,
      zh: `\`lockstep drill --list\` 列出的名字（默认 ${usualDrill}）`,
    },
  },
  options: {
    list,
    on: {
      schema: knownRung.optional(),
      value: '<rung>',
      en: 'instead of a named drill: your own, on this rung',
      zh: '不用现成的演练，给这个方案做自己的',
      conflicts: ['list'],
    },
    faults: {
      schema: z.string().optional(),
      value: '<line>',
      en:
        "with --on: seconds of the load, and the verbs of `lockstep fault`: '10 stop redis-2, " +
        "20 start redis-2'; `end` ends the load",
      zh: "和 --on 一起用：压测的第几秒、`lockstep fault` 的动词和服务器：'10 stop redis-2, 20 start redis-2'；end 结束压测",
      conflicts: ['list'],
    },
    beside: withOn(load.beside),
    arrivals: withOn(load.arrivals),
    perSecond: withOn(load.perSecond),
    minutes: {
      schema: someMinutes.default(0.5),
      en: 'how long the load lasts, in a drill that has a length',
      zh: '压测多少分钟（时长可调的演练）',
      repeat: 'always',
    },
    seed: {
      schema: seedNumber.default(1),
      en: 'of a named drill: decides which faults, their sequence, and that of the users',
      zh: '现成的演练：决定有哪些故障、先后顺序，以及用户的顺序',
      repeat: 'always',
    },
    times: times(1_000),
    database,
    language,
    json,
  },
});

export const breakRow = commandRow({
  name: 'break',
  about: {
    en: 'purchases, while you break servers with `lockstep fault`; then the audit',
    zh: '一边持续下单，一边由你用 `lockstep fault` 给服务器注入故障；最后审计',
  },
  arguments: { rung },
  options: {
    ...load,
    minutes: {
      schema: someMinutes.default(5),
      en: 'how long; `lockstep fault end` ends it earlier',
      zh: '多少分钟；`lockstep fault end` 提前结束',
      repeat: 'always',
    },
    database,
    language,
    json,
  },
});

export const faultRow = commandRow({
  name: 'fault',
  about: {
    en: 'break a server while k6 or `break` runs; heal mends all, end ends `break`',
    zh: '在 k6 或 `break` 运行时给一台服务器注入故障；heal 全部修好，end 结束 `break`',
  },
  arguments: {
    verb: { schema: z.enum(handVerbs), en: 'what to do', zh: '做什么' },
    server: {
      schema: z.string().optional(),
      en: 'redis-2, nginx, api-1, api-worker-1, …; heal and end need none',
      zh: 'redis-2、nginx、api-1、api-worker-1……；heal 和 end 不用写',
    },
  },
  options: {
    ms: {
      schema: wholeNumber(0, 600_000).default(usualMs),
      en: 'for slow, delay, block-event-loop and step-clock-…',
      zh: '多少毫秒：slow、delay、block-event-loop、step-clock-… 用',
    },
    language,
    json,
  },
});
