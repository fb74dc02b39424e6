/** Errata about the Lua scripts of the notes. */
import { randomUUID } from 'node:crypto';
import { transaction } from '../../service/connections/mysql.ts';
import { type Erratum, notesScript, refusalOf, withClient, withNotesVoucher } from './erratum.ts';

const users = 1_200;

export const scriptErrata = {
  'printed-scripts': {
    says: {
      en: 'the scripts as printed: Redis.call, reids.call, KEY[1]',
      zh: '笔记里印出来的脚本：Redis.call、reids.call、KEY[1]',
    },
    truth: {
      en: 'Redis refuses all three: names in Lua have their case, and the table is KEYS. With KEYS mended, the comment of 001 still swallows the `return` behind it. With such an unlock.lua no lock is ever deleted.',
      zh: '三种写法 Redis 都拒绝：Lua 区分大小写，表名是 KEYS。就算改成 KEYS，001 里那行注释还会吞掉后面的 return。这样的 unlock.lua 一把锁也删不掉。',
    },
    async play({ redis, key, tell }) {
      const printed = [
        `if(Redis.call('get',KEYS[1]) == ARGV[1]) then return redis.call('del',KEYS[1]) end return 0`,
        `if(redis.call('get',KEYS[1]) == ARGV[1]) then return reids.call('del',KEYS[1]) end return 0`,
        `if(redis.call('get',KEY[1]) == ARGV[1]) then return redis.call('del',KEYS[1]) end return 0`,
      ];
      await redis.set(key, 'me', 'PX', 60_000);
      const refusals = [];
      for (const script of printed) {
        const refusal = await refusalOf(redis.eval(script, 1, key, 'me'));
        const sent = `EVAL "${script.slice(0, 48)}…"`;
        tell(`${sent}: ${refusal ?? 'no error'}`, `${sent}：${refusal ?? '没有报错'}`);
        refusals.push(refusal);
      }
      const swallowed = `if(redis.call('get',KEYS[1]) == ARGV[1]) then--释放锁 del keyreturn redis.call('del', KEYS[1])
end
return 0`;
      const answer = await redis.eval(swallowed, 1, key, 'me');
      tell(`with KEYS, and the comment of 001: ${answer}`, `改成 KEYS，保留 001 的注释：${answer}`);
      const isThere = await redis.getdel(key);
      tell(`GET, after the four: ${isThere}`, `四次之后 GET：${isThere}`);
      return refusals.every((refusal) => refusal !== null) && answer === 0 && isThere === 'me';
    },
  },
  'missing-stock-key': {
    says: {
      en: 'tonumber(redis.call("get", stockKey)) <= 0: sold out',
      zh: 'tonumber(redis.call("get", stockKey)) <= 0：库存不足',
    },
    truth: {
      en: 'Without the key the script fails: GET gives false, tonumber gives nil, and nil is no number. The buyer gets an error, and not "sold out".',
      zh: '没有这个 key 时脚本会报错：GET 得到 false，tonumber 得到 nil，nil 不能和数字比较。买家得到的是异常，不是“库存不足”。',
    },
    async play({ redis, key, tell }) {
      const refusal = await refusalOf(redis.eval(notesScript, 0, key, '7'));
      tell(
        `the script of the notes, for a voucher that Redis does not have: ${refusal}`,
        `笔记的脚本，买一张 Redis 里没有的券：${refusal}`,
      );
      return refusal?.includes('compare') === true;
    },
  },
  'lua-rolls-back': {
    says: { en: 'a Lua script is atomic', zh: 'Lua 脚本具有原子性' },
    truth: {
      en: 'Nobody comes between its commands; but when it fails half-way, what it has written stays. All that can fail must come first.',
      zh: '执行期间不会被打断，但中途出错时，已经写入的不会撤销。会失败的操作要放在第一次写入之前。',
    },
    play: ({ redis, key, tell }) =>
      withNotesVoucher({ redis, key }, 10, async ({ stockKey, buyersKey, stock }) => {
        await redis.set(buyersKey, 'not a set');
        const refusal = await refusalOf(
          redis.eval(
            `redis.call('incrby', KEYS[1], -1) redis.call('sadd', KEYS[2], ARGV[1]) return 0`,
            ...[2, stockKey, buyersKey, '7'],
          ),
        );
        tell(
          `INCRBY -1, then SADD to a key of another type: ${refusal}`,
          `先 INCRBY -1，再对一个类型不对的 key 做 SADD：${refusal}`,
        );
        await redis.del(buyersKey);
        const [left, bought] = [await stock(), await redis.scard(buyersKey)];
        tell(
          `stock 10 is now ${left}; buyers: ${bought}`,
          `库存原来是 10，现在是 ${left}；买家：${bought}`,
        );
        return left === '9' && bought === 0;
      }),
  },
  'both-pass-the-script': {
    says: {
      en: 'T1 to T8: two requests of one user both pass the script, because it runs so fast',
      zh: 'T1 到 T8：同一用户的两个请求都通过脚本，因为它执行得太快',
    },
    truth: {
      en: 'Redis runs one script at a time. The second call sees the buyer that the first one has added. And the executor of the notes has a single thread: T4 is over before T5 begins.',
      zh: 'Redis 一次只执行一个脚本，第二次调用看得到第一次加进去的买家。而且笔记的线程池是 newSingleThreadExecutor：T4 做完才轮到 T5。',
    },
    play: ({ stage, redis, key, tell }) =>
      withClient(stage, 'admin', (one) =>
        withClient(stage, 'admin', (other) =>
          withNotesVoucher({ redis, key }, 2 * users, async (voucher) => {
            const pairs = await Promise.all(
              Array.from({ length: users }, (_, user) =>
                Promise.all([one, other].map((client) => voucher.buy(String(user), client))),
              ),
            );
            const both = pairs.filter((answers) => answers.every((answer) => answer === 0)).length;
            const first = pairs.filter(([answer]) => answer === 0).length;
            const taken = 2 * users - Number(await voucher.stock());
            tell(
              `${users} users, two requests each, on two connections at once`,
              `${users} 个用户，每人两个请求，同时走两条连接`,
            );
            tell(
              `the first connection was first ${first} times, the other ${users - first} times`,
              `第一条连接先到 ${first} 次，另一条先到 ${users - first} 次`,
            );
            tell(
              `both requests passed: ${both} times; stock taken: ${taken}`,
              `两个请求都通过：${both} 次；扣掉的库存：${taken}`,
            );
            return both === 0 && taken === users;
          }),
        ),
      ),
  },
  'window-lost': {
    says: {
      en: 'the asynchronous sale checks stock and user in the script',
      zh: '异步秒杀由脚本判断库存和一人一单',
    },
    truth: {
      en: 'The check of begin and end, which the first version had, is gone: a voucher is sold before its sale begins. Here the script checks the time by the clock of Redis.',
      zh: '第一版里对开始和结束时间的判断没有了：活动还没开始就能买。这里由脚本按 Redis 的时钟检查。',
    },
    async play({ stage, redis, key, tell }) {
      const notes = await withNotesVoucher({ redis, key }, 10, ({ buy }) => buy('7'));
      tell(
        `the script of the notes, for a sale that begins in an hour: ${notes} (0 is bought)`,
        `笔记的脚本，活动一小时后才开始：${notes}（0 是“买到了”）`,
      );
      const voucherId = await stage.putOnSale({
        title: 'begins in an hour',
        stock: 10,
        rung: 'lua-stream',
        beginsInMs: 3_600_000,
      });
      const purchase = { voucherId, userId: '7', requestId: randomUUID() };
      const { outcome, reason = outcome } = await stage.buy(purchase);
      tell(`lua-stream, for the same sale: ${reason}`, `lua-stream，同样的活动：${reason}`);
      return notes === 0 && reason === 'not-started';
    },
  },
  'stock-before-commit': {
    says: {
      en: 'addSeckillVoucher saves the voucher and sets the stock in Redis, in one @Transactional method',
      zh: 'addSeckillVoucher 在一个 @Transactional 方法里保存优惠券，并把库存写进 Redis',
    },
    truth: {
      en: 'Redis is no part of the transaction. When it rolls back, the stock stays, and a voucher is sold that MySQL does not have. Here the stock follows the commit.',
      zh: 'Redis 不在事务里。事务回滚后库存还在，卖的是 MySQL 里不存在的券。这里提交之后才写 Redis。',
    },
    async play({ stage, redis, key, tell }) {
      const pool = stage.connections.mysql();
      return withNotesVoucher({ redis, key }, 10, async ({ buy }) => {
        const title = `erratum ${randomUUID()}`;
        const refusal = await refusalOf(
          transaction(pool, 'REPEATABLE READ', async (db) => {
            await db.query(
              'INSERT INTO vouchers (title, begin_time, end_time, rung) VALUES (?, NOW(), NOW(), ?)',
              [title, 'lua-stream'],
            );
            throw new Error('the next statement failed');
          }),
        );
        tell(
          `SET the stock, INSERT the voucher, ROLLBACK (${refusal})`,
          `SET 库存，INSERT 优惠券，ROLLBACK（${refusal}）`,
        );
        const [rows] = await pool.query('SELECT id FROM vouchers WHERE title = ?', [title]);
        const [found, bought] = [(rows as unknown[]).length, await buy('7')];
        tell(
          `vouchers in MySQL: ${found}; the script of the notes: ${bought} (0 is bought)`,
          `MySQL 里的优惠券：${found}；笔记的脚本：${bought}（0 是“买到了”）`,
        );
        return found === 0 && bought === 0;
      });
    },
  },
} as const satisfies Record<string, Erratum>;
