/** Errata about the SQL of the notes. */
import { randomUUID } from 'node:crypto';
import type { ResultSetHeader } from 'mysql2';
import { type Pool, select } from '../../service/connections/mysql.ts';
import type { Stage } from '../stage/stage.ts';
import type { Erratum } from './erratum.ts';

type Tables = readonly [string, string];

/** Two tables of its own, which are dropped afterwards. */
async function withTables<T>(
  { connections }: Stage,
  columns: string,
  work: (db: Pool, tables: Tables) => Promise<T>,
): Promise<T> {
  const pool = connections.mysql();
  const id = randomUUID().slice(0, 8);
  const tables = [`erratum_${id}_0`, `erratum_${id}_1`] as const;
  for (const table of tables) await pool.query(`CREATE TABLE ${table} (${columns})`);
  try {
    return await work(pool, tables);
  } finally {
    for (const table of tables) await pool.query(`DROP TABLE ${table}`);
  }
}

const rowsIn = async (db: Pool, table: string): Promise<number> =>
  Number((await select<{ n: number }>(db, `SELECT COUNT(*) AS n FROM ${table}`))[0]?.n);

const insertedId = async (db: Pool, sql: string): Promise<number> =>
  (await db.query<ResultSetHeader>(sql))[0].insertId;

export const sqlErrata = {
  'count-above-one': {
    says: {
      en: 'count the orders of the user: more than 1 means that the user has bought too much',
      zh: '查询用户的订单数，大于 1 即可判断是否多买',
    },
    truth: {
      en: 'With "more than 1" the second order passes, even when the requests come one after the other. It must be "more than 0".',
      zh: '写成“大于 1”，第二单就放过去了，哪怕请求是一个接一个来的。应该是“大于 0”。',
    },
    play: (stage, tell) =>
      withTables(
        stage,
        'id BIGINT AUTO_INCREMENT PRIMARY KEY, user_id BIGINT',
        async (db, [orders]) => {
          for (let request = 1; request <= 3; request++) {
            const count = await rowsIn(db, orders);
            const isBought = count <= 1;
            if (isBought) await db.query(`INSERT INTO ${orders} (user_id) VALUES (7)`);
            tell(
              `request ${request} of user 7: count ${count}, ${isBought ? 'bought' : 'refused'}`,
              `用户 7 的第 ${request} 个请求：查到 ${count} 单，${isBought ? '买到了' : '被拒绝'}`,
            );
          }
          const rows = await rowsIn(db, orders);
          tell(`orders of user 7: ${rows}`, `用户 7 的订单：${rows}`);
          return rows === 2;
        },
      ),
  },
  'order-at-zero': {
    says: {
      en: 'the RabbitMQ consumer: if quantity > 0, take one; then save the order',
      zh: 'RabbitMQ 消费者：库存大于 0 就扣减，然后保存订单',
    },
    truth: {
      en: 'The save stands behind the if, not inside it: with quantity 0 nothing is taken, and the order is saved.',
      zh: '保存订单写在 if 外面：库存为 0 时没有扣减，订单照样保存。',
    },
    play: (stage, tell) =>
      withTables(
        stage,
        'id BIGINT AUTO_INCREMENT PRIMARY KEY, quantity INT',
        async (db, [products, orders]) => {
          await db.query(`INSERT INTO ${products} (quantity) VALUES (1)`);
          for (let message = 1; message <= 3; message++) {
            const [product] = await select<{ quantity: number }>(
              db,
              `SELECT quantity FROM ${products}`,
            );
            const quantity = product?.quantity ?? 0;
            if (quantity > 0) await db.query(`UPDATE ${products} SET quantity = ?`, [quantity - 1]);
            await db.query(`INSERT INTO ${orders} (quantity) VALUES (1)`);
            tell(
              `message ${message}: quantity ${quantity}, the order is saved`,
              `第 ${message} 条消息：库存 ${quantity}，订单已保存`,
            );
          }
          const saved = await rowsIn(db, orders);
          tell(`one product, orders: ${saved}`, `商品只有一件，订单：${saved}`);
          return saved === 3;
        },
      ),
  },
  'auto-increment': {
    says: {
      en: 'no AUTO_INCREMENT for orders: ids can be guessed, and several tables repeat them',
      zh: '订单表不用自增：容易被猜到，而且多张表会出现重复 id',
    },
    truth: {
      en: 'This is so, and here it is: two tables give the same id, and the next one is the last one plus one.',
      zh: '这句话没错，这里跑给你看：两张表给出同样的 id，下一个就是上一个加一。',
    },
    play: (stage, tell) =>
      withTables(stage, 'id BIGINT AUTO_INCREMENT PRIMARY KEY', async (db, tables) => {
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
      en: 'nextId: (seconds since 2022) << 32 | INCR, returned to the browser as a number',
      zh: 'nextId：(2022 年以来的秒数) << 32 | INCR，以数字返回给浏览器',
    },
    truth: {
      en: 'After 25 days these ids pass 2^53, and JavaScript rounds them: two orders have one id. And the notes read the local time as UTC: in China their ids are eight hours ahead.',
      zh: '25 天之后就超过 2^53，JavaScript 会舍入：两个订单变成同一个号。而且笔记把本地时间当成 UTC，在中国算出来的号超前八小时。',
    },
    async play(stage, tell) {
      const redis = stage.connections.redis('admin');
      const key = `erratum-${randomUUID()}`;
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
} as const satisfies Record<string, Erratum>;
