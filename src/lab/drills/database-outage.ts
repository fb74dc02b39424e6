/**
 * The database is away, read-only or full while `lua-stream` sells: sales go on, the orders wait,
 * and all of them are recorded afterwards. An outage is no fault of an order, so none is
 * dead-lettered; nor of a worker, so none is replaced. When the orders that wait fill Redis,
 * nothing more is sold; once MySQL is back, the workers free it, and sales go on by themselves.
 */
import type { Facts } from '../../service/audit/facts.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { fullDatabase, readOnlyDatabase } from '../faults/database.ts';
import type { Fault } from '../faults/fault.ts';
import { stopServer } from '../faults/process.ts';
import { limitMemory } from '../faults/redis.ts';
import type { Bilingual } from '../stage/result.ts';
import type { Drill } from './drill.ts';
import {
  countSales,
  deadLettered,
  type ExpectedOutage,
  expected,
  judgeOutages,
  looksThatSay,
  meanwhile,
  type SeenOutage,
} from './expectations.ts';
import { brokenFor, outageRung, playOutages, type Scene } from './outage.ts';
import { phasesAround, phaseTable } from './phases.ts';
import { msBetween } from './try-times.ts';

const outageMsMax = 30_000;

/** Orders are claimed often, so that even a short outage makes more than five deliveries. */
const claimed = { HISTORY_FOLDER: '', CLAIM_IDLE_MS: '500' };
/** A worker that took itself for stuck would be replaced after six seconds. */
const watched = { ...claimed, PROGRESS_WITHIN_MS: '2000', BATCH_LIMIT_MS: '3000' };

/** In an answer of /readyz: MySQL in one of the lists, or orders that wait for too long. */
const signs = {
  unanswered: '"unanswered":["MySQL"]',
  readOnly: '"readOnly":["MySQL"]',
  behind: '"status":"degraded","unanswered":[],"readOnly":[]',
} as const;

interface Row extends Omit<ExpectedOutage, 'name'>, Pick<Drill, 'takesMinutes'> {
  readonly faultOf: (database: string) => Fault;
  /** What /readyz must say meanwhile. */
  readonly sign: string;
  readonly forMsMin: number;
  readonly settings: Readonly<Record<string, string>>;
  /** From before the outage until all is recorded and sold again. */
  readonly around?: Fault;
}

const drains = [
  ...[expected.soldAgainWithin(30_000), expected.ordersWait, expected.recordedWithin(30_000)],
  expected.exitCodes(),
];
const short = { forMsMin: 5_000, settings: claimed, expects: [expected.sellsOn, ...drains] };

export const mysqlAway = drillOf(
  {
    en: 'MySQL is stopped while lua-stream sells: sales go on, and all is recorded afterwards',
    zh: 'lua-stream 下单时 MySQL 停止：继续成交，之后全部入库',
  },
  { takesMinutes: 1, ...short, faultOf: stopServer, sign: signs.unanswered },
);

export const mysqlReadOnly = drillOf(
  {
    en: 'MySQL is read-only while lua-stream sells: orders wait, /readyz says so, none is lost',
    zh: 'lua-stream 下单时 MySQL 只读：订单等待，/readyz 会说明，一个也不丢',
  },
  { takesMinutes: 1, ...short, faultOf: readOnlyDatabase, sign: signs.readOnly },
);

export const mysqlFull = drillOf(
  {
    en: 'MySQL has no space for an order while lua-stream sells: orders wait, none is lost',
    zh: 'lua-stream 下单时 MySQL 没有空间写订单：订单等待，一个也不丢',
  },
  {
    takesMinutes: 1,
    ...short,
    faultOf: fullDatabase,
    sign: signs.behind,
    forMsMin: 10_000,
    settings: watched,
  },
);

/** Two hundred orders need it, or twice as many after a moment in which Redis used more. */
const moreBytes = 50_000;

export const redisFull = drillOf(
  {
    en: 'MySQL is stopped until the orders that wait fill Redis: it drains by itself afterwards',
    zh: 'MySQL 停到等待的订单占满 Redis：恢复后自动排空，一个也不丢',
  },
  {
    takesMinutes: 0.5,
    faultOf: stopServer,
    sign: signs.unanswered,
    forMsMin: 15_000,
    settings: claimed,
    around: limitMemory('redis-main', moreBytes),
    expects: drains,
    needs: [
      expected.refusesAs('not-ready', { en: 'Redis was never full', zh: 'Redis 一直没有满' }),
    ],
  },
);

/** With what it expects, for its test. */
function drillOf(about: Bilingual, row: Row): Drill & Pick<ExpectedOutage, 'expects' | 'needs'> {
  const { faultOf, sign, forMsMin, settings, around } = row;
  const shape: ServiceShape = { instances: 2, balancer: 'nginx', settings };
  const expects = [...row.expects, expected.readyzSays(sign)];
  return {
    ...row,
    about,
    expects,
    async play(stage, { minutes, seed }) {
      const fault = faultOf(stage.lab.database);
      const { name } = fault;
      const forMs = Math.min(outageMsMax, Math.max(forMsMin, minutes * 60_000));
      const play = async (scene: Scene) => {
        const endAround = around && (await stage.inject(around));
        const mended = await brokenFor(forMs, fault)(scene);
        return { ...mended, later: async () => void (await endAround?.()) };
      };
      const outages = [{ ...row, name, expects, play }];
      await stage.serve(shape);
      const played = await playOutages(stage, outages, { title: name, seed, forMs });
      const figures = played.seen.map((seen) => figuresOf(seen, sign, played.facts));
      const tables = [phaseTable(played.seen.flatMap((seen) => phasesAround(outageRung, seen)))];
      return { ...judgeOutages([played]), figures: Object.assign({}, ...figures), tables };
    },
  };
}

/** `recordedMs` is missing when the orders were not recorded in time. */
function figuresOf(seen: SeenOutage, sign: string, facts: Facts): Record<string, number> {
  const { mendedAt, recordedAt, waitingMost, exitCodes } = seen;
  return {
    soldMeanwhile: countSales(meanwhile(seen)),
    waitingMost,
    ...(recordedAt !== null && { recordedMs: msBetween(mendedAt, recordedAt) }),
    deadLettered: deadLettered(facts),
    readyzSaidSo: looksThatSay(seen, sign),
    replaced: exitCodes.length,
  };
}
