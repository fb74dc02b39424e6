/**
 * Tells when the lock of a rung can be acquired in every instance, and when its orders are
 * recorded: by purchases of another voucher.
 */
import { randomInt } from 'node:crypto';
import { Agent } from 'undici';
import { select } from '../../service/connections/mysql.ts';
import { signToken } from '../../service/http/tokens.ts';
import { rungNamed } from '../../service/ladder/rungs.ts';
import { instanceNames } from '../environment/servers/service.ts';
import { waitUntil } from '../environment/wait-until.ts';
import type { Stage } from '../stage/stage.ts';
import { buyOnce } from '../workload/buy-once.ts';
import { createVoucher } from '../workload/sale.ts';

const withinMs = 15_000;

/**
 * A majority may answer while an instance still has no connection to the others. The same
 * connections serve multilock, which needs all of them.
 */
const probed = (rung: string): string =>
  (rungNamed(rung).lockService?.servers.length ?? 1) > 1 ? 'multilock' : rung;

export interface Probe {
  /** Resolves once every instance has sold a unit. */
  readonly lockAnswers: () => Promise<void>;
  /** Resolves once an order of the probe is in MySQL. */
  readonly workersRecord: () => Promise<void>;
  /** Whether one is; if not, it sells another one. */
  readonly hasRecorded: () => Promise<boolean>;
}

export async function lockProbe({ lab, connections }: Stage, rung: string): Promise<Probe> {
  const sale = { title: 'is the lock there?', stock: 1_000, rung: probed(rung) };
  const voucherId = await createVoucher(lab, sale);
  const sells = async (instance: string): Promise<boolean> => {
    const userId = String(randomInt(1, 2 ** 40));
    const agent = new Agent({ headersTimeout: withinMs });
    const url = `http://127.0.0.1:${lab.portOf(instance)}/vouchers/${voucherId}/orders`;
    const intent = { userId, requestId: `probe-${userId}` };
    const token = await signToken(lab.tokenSecret, userId, 'user');
    const { outcome } = await buyOnce(agent, url, intent, token);
    await agent.destroy();
    return outcome === 'accepted';
  };
  const lockAnswers = async () => {
    const waits = instanceNames(lab.shape).map((instance) =>
      waitUntil(`${instance} to sell on ${rung}`, withinMs, () => sells(instance)),
    );
    await Promise.all(waits);
  };
  // Some queues lose an order that comes before a worker listens: so each look sells another one.
  const hasRecorded = async () => {
    const sql = 'SELECT id FROM orders WHERE voucher_id = ? LIMIT 1';
    if ((await select(connections.mysql(), sql, [voucherId])).length > 0) return true;
    await lockAnswers();
    return false;
  };
  const workersRecord = () => waitUntil(`an order of ${rung} in MySQL`, withinMs, hasRecorded, 200);
  return { lockAnswers, workersRecord, hasRecorded };
}

export const noProbe: Probe = {
  lockAnswers: async () => {},
  workersRecord: async () => {},
  hasRecorded: async () => true,
};
