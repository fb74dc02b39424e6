/** Errata about the order ids of the notes. */
import type { ResultSetHeader } from 'mysql2';
import { pino } from 'pino';
import { type Pool, select } from '../../service/connections/mysql.ts';
import { snowflakes } from '../../service/order-ids/snowflake.ts';
import { shuffler } from '../workload/shuffle.ts';
import { type Erratum, withTables } from './erratum.ts';

const rows = 50_000;

const insertedId = async (db: Pool, sql: string): Promise<number> =>
  (await db.query<ResultSetHeader>(sql))[0].insertId;

const snowflakeMaker = (workerId: number) =>
  snowflakes(() => ({ workerId, fromMs: 0, untilMs: Infinity }), pino({ level: 'silent' }));

export const idErrata = {
  'auto-increment': {
    says: {
      en: 'no AUTO_INCREMENT for orders: ids can be guessed, and several tables repeat them',
      zh: '订单表不用自增：容易被猜到，而且多张表会出现重复 id',
    },
    truth: {
      en: 'This is so, and here it is: two tables give the same id, and the next one is the last one plus one.',
      zh: '这句话没错，这里跑给你看：两张表给出同样的 id，下一个就是上一个加一。',
    },
    play: ({ stage, tell }) =>
      withTables(stage, [], async (db, tables) => {
        const ids = [];
        for (const table of [tables[0], tables[1], tables[0]])
          ids.push(await insertedId(db, `INSERT INTO ${table} () VALUES ()`));
        tell(
          `table 0: id ${ids[0]}; table 1: id ${ids[1]}; table 0 again: id ${ids[2]}`,
          `表 0：id ${ids[0]}；表 1：id ${ids[1]}；再插表 0：id ${ids[2]}`,
        );
        return ids[0] === ids[1] && ids[2] === Number(ids[0]) + 1;
      }),
  },
  'id-as-number': {
    says: {
      en: 'nextId: (seconds since BEGIN_TIMESETUP, here 2022) << 32 | INCR, returned to the browser as a number',
      zh: 'nextId：(从 BEGIN_TIMESETUP 起的秒数，这里取 2022 年) << 32 | INCR，以数字返回给浏览器',
    },
    truth: {
      en: 'After 25 days these ids pass 2^53, and JavaScript rounds them: two orders have one id. And the notes read the local time as UTC: in China their ids are eight hours ahead.',
      zh: '25 天之后就超过 2^53，JavaScript 会舍入：两个订单变成同一个号。而且笔记把本地时间当成 UTC，在中国算出来的号超前八小时。',
    },
    async play({ redis, key, tell }) {
      const next = async () => {
        const seconds = BigInt(Math.floor(Date.now() / 1_000) - Date.UTC(2022, 0, 1) / 1_000);
        return (seconds << 32n) | BigInt(await redis.incr(key));
      };
      const ids = [await next(), await next()];
      await redis.del(key);
      const numbers = ids.map((id) => String(Number(id)));
      tell(`the ids: ${ids.join(' and ')}`, `两个 id：${ids.join(' 和 ')}`);
      tell(
        `as JavaScript numbers: ${numbers.join(' and ')}`,
        `变成 JavaScript 的 number：${numbers.join(' 和 ')}`,
      );
      return ids.some((id, at) => String(id) !== numbers[at]);
    },
  },
  'same-worker-id': {
    says: {
      en: 'snowflake ids never collide: a data centre id and a machine id make them unique',
      zh: '雪花算法在分布式系统中无冲突：数据中心 ID 和机器 ID 保证全局唯一',
    },
    truth: {
      en: 'Only while no two processes have the same machine id; two containers with the same settings make the same ids. Here Redis leases each process a worker id of its own.',
      zh: '前提是没有两个进程用同一个机器 ID；两个配置相同的容器会生成同样的号。这里由 Redis 给每个进程租一个自己的 worker id。',
    },
    async play({ tell }) {
      const repeatedBy = (workerIds: readonly number[]) => {
        const makers = workerIds.map(snowflakeMaker);
        const ids = Array.from({ length: 10_000 }, () => makers.map((next) => next())).flat();
        return ids.length - new Set(ids).size;
      };
      const [same, own] = [repeatedBy([7, 7]), repeatedBy([7, 8])];
      tell(
        `two processes, 10000 ids each, worker id 7 for both: ${same} ids exist twice`,
        `两个进程各取 10000 个号，worker id 都是 7：重复 ${same} 个`,
      );
      tell(`worker ids 7 and 8: ${own} ids exist twice`, `worker id 是 7 和 8：重复 ${own} 个`);
      return same > 0 && own === 0;
    },
  },
  'ids-in-memory': {
    says: {
      en: 'snowflake ids are made in memory, fast, and need no database',
      zh: '雪花算法在内存中生成，速度快，不依赖数据库',
    },
    truth: {
      en: 'This is so, and here it is, beside one INCR for each id. But who leases the machine ids needs a store: here Redis, every ten seconds.',
      zh: '这句话没错，这里跑给你看，旁边是每个号一次 INCR。但机器 ID 总要有地方分配：这里每十秒向 Redis 续租一次。',
    },
    async play({ redis, key, tell }) {
      const next = snowflakeMaker(7);
      const perSecond = async (count: number, make: () => unknown) => {
        const startedAt = performance.now();
        for (let made = 0; made < count; made += 1) await make();
        return Math.round((count * 1_000) / (performance.now() - startedAt));
      };
      const snowflake = await perSecond(100_000, next);
      const counted = await perSecond(1_000, () => redis.incr(key));
      await redis.del(key);
      tell(
        `ids a second, one after the other: snowflake ${snowflake}, INCR ${counted}`,
        `每秒的号数，一个接一个：雪花算法 ${snowflake}，INCR ${counted}`,
      );
      return snowflake > counted;
    },
  },
  'ids-in-order': {
    says: {
      en: 'ids that ascend are good for the B+ tree of the database',
      zh: '递增的 id 有利于数据库 B+ 树的插入',
    },
    truth: {
      en: 'This is so, and here it is: each new row goes behind the last one. At random, rows go into full pages, which split and stay half empty.',
      zh: '这句话没错，这里跑给你看：新行总是接在最后。随机的 id 会插进写满的页，页一分裂，就空着一半。',
    },
    play: ({ stage, tell }) =>
      withTables(stage, ['filler CHAR(100)'], async (db, tables) => {
        const megabytes: number[] = [];
        for (const [at, table] of tables.entries()) {
          const ids = Array.from({ length: rows }, (_, row) => row + 1);
          if (at === 1) shuffler(1)(ids);
          for (let from = 0; from < rows; from += 1_000) {
            const values = ids.slice(from, from + 1_000).map((id) => [id, 'order']);
            await db.query(`INSERT INTO ${table} VALUES ?`, [values]);
          }
          await db.query(`ANALYZE TABLE ${table}`);
          const size = `SELECT data_length AS bytes FROM information_schema.tables WHERE table_name = ?`;
          const [found] = await select<{ bytes: string }>(db, size, [table]);
          megabytes.push(Number(found?.bytes) / 1_000_000);
        }
        const [ascending = 0, random = 0] = megabytes;
        const [one, other] = [ascending.toFixed(1), random.toFixed(1)];
        tell(
          `${rows} rows: ${one} MB with ascending ids, ${other} MB with the same ids at random`,
          `${rows} 行：id 递增 ${one} MB，同样的 id 乱序 ${other} MB`,
        );
        return random > ascending * 1.1;
      }),
  },
} as const satisfies Record<string, Erratum>;
