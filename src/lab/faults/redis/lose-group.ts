/**
 * A Redis is killed, and starts again without the consumer group of the orders: its append-only
 * file says so. The orders are still in the stream. A worker creates the group again.
 */
import { appendFileSync } from 'node:fs';
import { orderGroup, saleKeys } from '../../../service/connections/sale-keys.ts';
import { appendOnlyFile, asCommand } from '../../environment/append-only-file.ts';
import type { Fault } from '../fault.ts';

export const loseGroup = (name: string): Fault => ({
  name: `lose the consumer group of ${name}`,
  async inject(lab) {
    const server = lab.server(name);
    await server.kill();
    const file = appendOnlyFile(lab.dataFolder(name));
    for (const { orders } of saleKeys(1).shards)
      appendFileSync(file, asCommand('XGROUP', 'DESTROY', orders, orderGroup));
    await server.start();
    return async () => {};
  },
});
