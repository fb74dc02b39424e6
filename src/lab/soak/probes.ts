/** The purchases of a soak that stop at a checkpoint: sent apart from the load, told like it. */
import { Agent } from 'undici';
import { signToken } from '../../http/tokens.ts';
import type { Recorder } from '../drills/timeline.ts';
import { buyOnce } from '../workload/buy-once.ts';
import { isFinal, type Purchase, type Try } from '../workload/steady-purchases.ts';
import type { SoakSale } from './soak-sale.ts';

const answerWithinMs = 15_000;

export interface Probes {
  /** Every answer so far. */
  readonly tries: readonly Try[];
  /** Sends it once. Without a final answer, the load sends it until it has one. */
  send(
    baseUrl: string,
    purchase: Purchase,
    headers: Readonly<Record<string, string>>,
  ): Promise<Try>;
  close(): Promise<void>;
}

export function openProbes(sale: SoakSale, tokenSecret: string, recorder: Recorder): Probes {
  const agent = new Agent({ headersTimeout: answerWithinMs, pipelining: 0 });
  const tries: Try[] = [];
  return {
    tries,
    async send(baseUrl, purchase, headers) {
      const token = await signToken(tokenSecret, purchase.userId, 'user');
      const url = `${baseUrl}/vouchers/${purchase.voucherId}/orders`;
      const answer = await buyOnce(agent, url, purchase, token, headers);
      const attempt = { ...answer, voucherId: purchase.voucherId };
      tries.push(attempt);
      recorder.attempt(attempt);
      if (!isFinal(attempt)) sale.repeat(purchase);
      return attempt;
    },
    close: () => agent.destroy(),
  };
}
