/** One purchase request, and its answer. */
import { type Agent, request } from 'undici';
import { z } from 'zod';
import type { Attempt } from '../../service/audit/facts.ts';

export interface Intent {
  readonly userId: string;
  readonly requestId: string;
}

/** The moments are those of the clock of the history. */
export async function buyOnce(
  agent: Agent,
  url: string,
  intent: Intent,
  token: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Attempt> {
  const own = { authorization: `Bearer ${token}`, 'idempotency-key': intent.requestId };
  const sentAt = process.hrtime.bigint();
  const answer = await ask(agent, url, { ...own, ...more }).catch(noAnswer);
  const answeredAt = process.hrtime.bigint();
  const latencyMs = Number(answeredAt - sentAt) / 1_000_000;
  const times = { sentAt: String(sentAt), answeredAt: String(answeredAt), latencyMs };
  return { ...intent, ...answer, ...times };
}

type AttemptAnswer = Pick<Attempt, 'outcome' | 'reason' | 'orderId' | 'instance' | 'tries'>;

/** It may have happened. */
const noAnswer = (error: unknown): AttemptAnswer => ({ outcome: 'unknown', reason: String(error) });

const Answer = z.object({ id: z.string(), code: z.string(), orderId: z.string() }).partial();

async function ask(
  agent: Agent,
  url: string,
  sent: Readonly<Record<string, string>>,
): Promise<AttemptAnswer> {
  const post = { method: 'POST', dispatcher: agent, headers: sent } as const;
  const { statusCode, headers, body } = await request(url, post);
  const { id, code, orderId } = Answer.parse(await body.json());
  const instance = String(headers['x-instance'] ?? 'nginx');
  if (statusCode === 201 || statusCode === 202) {
    const tries = Number(headers['x-tries'] ?? 1);
    return { outcome: 'accepted', instance, tries, ...(id && { orderId: id }) };
  }
  const isUnknown = code === undefined || code === 'outcome-unknown' || statusCode === 500;
  return {
    outcome: isUnknown ? 'unknown' : 'refused',
    instance,
    reason: code ?? `status ${statusCode}`,
    ...(orderId && { orderId }),
  };
}
