/** One purchase request, and its answer. */
import { type Agent, request } from 'undici';
import { z } from 'zod';
import type { Attempt } from '../../service/audit/facts.ts';

export interface Intent {
  readonly userId: string;
  readonly requestId: string;
}

/** By the clock of the history. */
function times(sentAt: bigint): Pick<Attempt, 'sentAt' | 'answeredAt' | 'latencyMs'> {
  const answeredAt = process.hrtime.bigint();
  const latencyMs = Number(answeredAt - sentAt) / 1_000_000;
  return { sentAt: String(sentAt), answeredAt: String(answeredAt), latencyMs };
}

const Answer = z.object({ id: z.string(), code: z.string(), orderId: z.string() }).partial();

export async function buyOnce(
  agent: Agent,
  url: string,
  intent: Intent,
  token: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Attempt> {
  const sentAt = process.hrtime.bigint();
  const attempt = (
    answer: Pick<Attempt, 'outcome' | 'reason' | 'orderId' | 'instance' | 'tries'>,
  ): Attempt => ({
    ...intent,
    ...answer,
    ...times(sentAt),
  });
  try {
    const { statusCode, headers, body } = await request(url, {
      method: 'POST',
      dispatcher: agent,
      headers: { authorization: `Bearer ${token}`, 'idempotency-key': intent.requestId, ...more },
    });
    const { id, code, orderId } = Answer.parse(await body.json());
    const instance = String(headers['x-instance'] ?? 'nginx');
    if (statusCode === 201 || statusCode === 202) {
      const tries = Number(headers['x-tries'] ?? 1);
      return attempt({ outcome: 'accepted', instance, tries, ...(id && { orderId: id }) });
    }
    const isUnknown = code === undefined || code === 'outcome-unknown' || statusCode === 500;
    const outcome = isUnknown ? 'unknown' : 'refused';
    return attempt({
      outcome,
      instance,
      reason: code ?? `status ${statusCode}`,
      ...(orderId && { orderId }),
    });
  } catch (error) {
    // No answer: it may have happened.
    return attempt({ outcome: 'unknown', reason: String(error) });
  }
}
