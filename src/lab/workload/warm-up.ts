/** Before a rush: every instance has its connections open and its code compiled. */
import type { Connections } from '../../service/connections/connections.ts';
import { drained } from './drained.ts';
import { type Rush, rush } from './rush.ts';
import { putOnSale } from './sale.ts';

const users = 150;
/** Until every instance has answered; Node's own cluster may leave one out of a rush. */
const roundsMax = 5;

export interface WarmUp extends Pick<Rush, 'baseUrl' | 'seed' | 'requestsPerEagerUser'> {
  readonly rung: string;
  readonly instances: number;
}

/**
 * The same rush on a voucher that is not audited. A cold instance answers late: then the first
 * sells out before the others have begun, and no race can show.
 */
export async function warmUp(request: WarmUp, connections: Connections): Promise<void> {
  const { rung, instances, seed, baseUrl, requestsPerEagerUser } = request;
  const tokenSecret = connections.config.TOKEN_SECRET;
  const sale = { title: 'warm-up', stock: users, rung, lab: { workMs: 1 } };
  const voucherId = await putOnSale(baseUrl, tokenSecret, instances, sale);
  const answering = new Set<string | undefined>();
  const load = { baseUrl, tokenSecret, voucherId, users, requestsPerEagerUser };
  for (let round = 0; round < roundsMax && answering.size < instances; round++) {
    const attempts = await rush({ ...load, seed: seed + round });
    for (const { instance } of attempts) answering.add(instance);
  }
  await drained(connections, voucherId);
}
