/** Errata about the SQL of the notes. */
import { type PoolConnection, select, transaction } from '../../service/connections/mysql.ts';
import { type Erratum, refusalOf, rowsIn, withTables } from './erratum.ts';

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
    play: ({ stage, tell }) =>
      withTables(stage, ['user_id BIGINT'], async (db, [orders]) => {
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
      }),
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
    play: ({ stage, tell }) =>
      withTables(stage, ['quantity INT'], async (db, [products, orders]) => {
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
      }),
  },
  'saved-twice': {
    says: {
      en: 'the RabbitMQ consumer saves the order, then acknowledges; the order has no id before',
      zh: 'RabbitMQ 消费者先保存订单，再确认；订单在保存之前没有编号',
    },
    truth: {
      en: 'A message whose acknowledgement is lost is delivered again, and AUTO_INCREMENT gives it another id: two orders. Here the id is made before the sale, and is the primary key.',
      zh: '确认丢了，消息会再投一次，自增主键又给一个新号：两个订单。这里的订单号在下单之前生成，它就是主键。',
    },
    play: ({ stage, tell }) =>
      withTables(stage, ['order_id BIGINT'], async (db, tables) => {
        const [notes, ours] = tables;
        await db.query(`ALTER TABLE ${ours} ADD UNIQUE (order_id)`);
        const save = (table: string) => db.query(`INSERT INTO ${table} (order_id) VALUES (7)`);
        await save(notes);
        await save(notes);
        await save(ours);
        const refusal = await refusalOf(save(ours));
        const [twice, once] = [await rowsIn(db, notes), await rowsIn(db, ours)];
        tell(
          `one message, delivered twice, ids by AUTO_INCREMENT: ${twice} orders`,
          `同一条消息投递两次，主键自增：${twice} 个订单`,
        );
        tell(
          `with the order id as a unique key: ${once} order; the second time: ${refusal}`,
          `订单号唯一：${once} 个订单；第二次：${refusal}`,
        );
        return twice === 2 && once === 1;
      }),
  },
  'rejected-and-committed': {
    says: {
      en: 'the RabbitMQ consumer is @Transactional; in its catch, the fifth failure ends with basicReject',
      zh: 'RabbitMQ 消费者有 @Transactional；catch 里第五次失败就 basicReject',
    },
    truth: {
      en: 'The error is caught and the method returns, so the transaction commits what it did before the error: the stock is taken, and the order is not there. Here any error rolls back.',
      zh: '异常被 catch 住，方法正常返回，事务就提交了出错之前的写入：库存扣了，订单没有。这里任何错误都回滚。',
    },
    play: ({ stage, tell }) =>
      withTables(stage, ['quantity INT NOT NULL'], async (db, [products, orders]) => {
        await db.query(`INSERT INTO ${products} (quantity) VALUES (10)`);
        const take = async (connection: PoolConnection) => {
          await connection.query(`UPDATE ${products} SET quantity = quantity - 1`);
          await connection.query(`INSERT INTO ${orders} (quantity) VALUES (NULL)`);
        };
        const left = async () =>
          (await select<{ quantity: number }>(db, `SELECT quantity FROM ${products}`))[0]?.quantity;
        const rolledBack = await refusalOf(transaction(db, 'READ COMMITTED', take));
        const before = await left();
        let caught: string | null = null;
        await transaction(db, 'READ COMMITTED', async (connection) => {
          caught = await refusalOf(take(connection));
        });
        const [after, saved] = [await left(), await rowsIn(db, orders)];
        tell(
          `UPDATE, INSERT fails (${rolledBack}), ROLLBACK: quantity ${before} of 10`,
          `UPDATE，INSERT 出错（${rolledBack}），ROLLBACK：库存 ${before}，原来是 10`,
        );
        tell(
          `the same, but the error is caught (${caught}), COMMIT: quantity ${after}, orders ${saved}`,
          `同样两句，但异常被 catch（${caught}），COMMIT：库存 ${after}，订单 ${saved}`,
        );
        return before === 10 && after === 9 && saved === 0;
      }),
  },
} as const satisfies Record<string, Erratum>;
