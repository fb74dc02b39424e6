/** A MySQL whose own zone is not UTC: every time that the service writes there is UTC. */
import { expect, test } from 'vitest';
import { select } from '../../src/service/connections/mysql.ts';
import { openVouchers } from '../../src/service/purchase/vouchers.ts';
import { ownSale } from '../support/own-sale.ts';
import { setGlobal } from '../support/own-stores.ts';

/** Those that a client gives. */
const given = ['vouchers.begin_time', 'vouchers.end_time', 'voucher_changes.begin_time'];
const minuteMs = 60_000;

test.each(["'+08:00'", "'-03:30'"])(
  'where it is %s, all times of all tables are UTC',
  async (zone) => {
    await setGlobal('time_zone', zone, "'SYSTEM'");
    const sale = await ownSale({});
    await sale.buyAs([1]);
    await sale.record();
    const closed = await sale.edit({ endTime: 'now' });
    const columns = await select<{ name: string; table: string }>(
      sale.pool,
      `SELECT CONCAT(TABLE_NAME, '.', COLUMN_NAME) AS name, TABLE_NAME AS \`table\`
     FROM information_schema.COLUMNS
     WHERE TABLE_SCHEMA = DATABASE() AND DATA_TYPE IN ('datetime', 'timestamp', 'date', 'time')`,
    );
    const written = columns.filter(({ name }) => !given.includes(name));
    expect(written.map(({ name }) => name)).toContain('voucher_changes.settled_at');
    for (const { name, table } of written) {
      const rows = await select<{ at: Date }>(
        sale.pool,
        `SELECT ${name} AS at FROM ${table} WHERE ${name} IS NOT NULL`,
      );
      expect(rows.length, name).toBeGreaterThan(0);
      for (const { at } of rows)
        expect(Math.abs(Date.now() - at.getTime()), name).toBeLessThan(minuteMs);
    }
    const found = await openVouchers(sale.connections).look(sale.id);
    expect(found).toMatchObject({ beginTime: sale.voucher.beginTime, endTime: closed?.endTime });
    const [change] = await sale.changes();
    expect(change).toEqual(closed);
  },
);
