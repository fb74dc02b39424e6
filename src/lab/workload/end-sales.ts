/**
 * Marks these vouchers as ended in MySQL. For a lab that is about to lose their Redis keys, so that
 * `reconcile` does not report them as lost.
 */
import type { Connections } from '../../service/connections/connections.ts';

export async function endSales(connections: Connections, voucherIds: readonly string[]) {
  const end = 'UPDATE vouchers SET end_time = ? WHERE id IN (?)';
  await connections.mysql().query(end, [new Date(), voucherIds]);
}
