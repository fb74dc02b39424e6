/** A MySQL whose own zone is not UTC: every time that the service writes there is UTC. */
import { expect, test } from 'vitest';
import { select } from '../../src/service/connections/mysql.ts';
import { changesOf } from '../../src/service/orders/change-journal.ts';
import { changeSale } from '../../src/service/orders/voucher-changes.ts';
import { openVouchers } from '../../src/service/purchase/vouchers.ts';
import { ownStores, setGlobal, startedProcess } from '../support/own-stores.ts';
import { buyAs, onSale, workUntilEmpty } from '../support/sale.ts';

/** Those that a client gives. */
const given = ['vouchers.begin_time', 'vouchers.end_time', 'voucher_changes.begin_time'];
const minuteMs = 60_000;

test.each(["'+08:00'", "'-03:30'"])(
  'where it is %s, all times of all tables are UTC',
  async (zone) => {
    await setGlobal('time_zone', zone, "'SYSTEM'");
    const connections = await startedProcess(await ownStores());
    const voucher = await onSale(connections, 5);
    await buyAs(connections, voucher, [1]);
    await workUntilEmpty(connections);
    const closed = await changeSale(connections, voucher.id, '9', { endTime: 'now' });
    const columns = await select<{ name: string; table: string }>(
      connections.mysql(),
      `SELECT CONCAT(TABLE_NAME, '.', COLUMN_NAME) AS name, TABLE_NAME AS \`table\`
     FROM information_schema.COLUMNS
     WHERE TABLE_SCHEMA = DATABASE() AND DATA_TYPE IN ('datetime', 'timestamp', 'date', 'time')`,
    );
    const written = columns.filter(({ name }) => !given.includes(name));
    expect(written.map(({ name }) => name)).toContain('voucher_changes.settled_at');
    for (const { name, table } of written) {
      const rows = await select<{ at: Date }>(
        connections.mysql(),
        `SELECT ${name} AS at FROM ${table} WHERE ${name} IS NOT NULL`,
      );
      expect(rows.length, name).toBeGreaterThan(0);
      for (const { at } of rows)
        expect(Math.abs(Date.now() - at.getTime()), name).toBeLessThan(minuteMs);
    }
    const found = await openVouchers(connections).look(voucher.id);
    expect(found).toMatchObject({ beginTime: voucher.beginTime, endTime: closed?.endTime });
    const [change] = await changesOf(connections.mysql(), voucher.id);
    expect(change).toEqual(closed);
  },
);
