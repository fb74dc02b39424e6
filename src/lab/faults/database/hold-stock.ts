/**
 * A transaction in MySQL has the stock of these vouchers locked. A worker that records an order of
 * one stands still in the middle of its own transaction. The undo lets it go on.
 */
import mysql from 'mysql2/promise';
import type { Fault } from '../fault.ts';

export const holdStock = (voucherIds: readonly string[]): Fault => ({
  name: 'lock the stock in MySQL',
  async inject({ environment }) {
    const holder = await mysql.createConnection({ uri: environment['MYSQL_URL'] ?? '' });
    try {
      await holder.beginTransaction();
      const stock = 'SELECT stock FROM seckill_stock WHERE voucher_id IN (?) FOR UPDATE';
      await holder.query(stock, [voucherIds]);
    } catch (error) {
      holder.destroy();
      throw error;
    }
    return async () => {
      await holder.rollback();
      await holder.end();
    };
  },
});
