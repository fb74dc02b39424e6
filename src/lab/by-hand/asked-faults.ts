/**
 * Faults that somebody asks for while an experiment has the lab: a terminal or the page asks,
 * through the Redis of the lab, and the experiment does it. So each of them is in its record.
 */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { LockstepError } from '../../service/errors.ts';
import type { Lab } from '../environment/lab.ts';
import { withRedis } from '../environment/replication.ts';
import { waitUntil } from '../environment/wait-until.ts';
import type { FaultVerb, UndoVerb } from '../faults/faults.ts';
import type { Bilingual } from '../stage/result.ts';

/** `start` and `resume` mend one server, `heal` all of them; `end` ends the load. */
export type HandVerb = FaultVerb | UndoVerb | 'heal' | 'end';

export interface AskedFault {
  readonly verb: HandVerb;
  /** Empty for `heal` and `end`. */
  readonly server: string;
  /** For a fault that has a length. */
  readonly ms: number;
}

/** What was done, or why it was not. */
export type FaultAnswer =
  | { readonly done: Bilingual }
  | { readonly code: string; readonly message: string };

const keys = {
  /** STRING: somebody takes faults. */
  taker: 'by-hand:taker',
  /** LIST of those that are asked for, in order. */
  asked: 'by-hand:asked',
  /** LIST: its one answer. */
  answer: (id: string) => `by-hand:answer:${id}`,
} as const;

const presentMs = 3_000;
const answerWithinSeconds = 60;

export const acceptsFaults = async (redis: Redis): Promise<boolean> =>
  (await redis.exists(keys.taker)) === 1;

/** @returns what was done. @throws the error that the experiment answered, or DEADLINE_PASSED */
export async function askFault(redis: Redis, asked: AskedFault): Promise<Bilingual> {
  const id = randomUUID();
  await redis.rpush(keys.asked, JSON.stringify({ id, ...asked }));
  let text: string | null = null;
  // No blocking command: its client gives up earlier.
  await waitUntil('the experiment to do it', answerWithinSeconds * 1_000, async () => {
    text = await redis.lpop(keys.answer(id));
    return text !== null;
  });
  const answer = JSON.parse(text ?? '{}') as FaultAnswer;
  if ('done' in answer) return answer.done;
  throw new LockstepError(answer.code, answer.message);
}

/**
 * Says again and again that faults are taken, also while one is done: that may take a while.
 * @returns what ends it
 */
export async function keepAccepting(redis: Redis): Promise<() => void> {
  const say = () => redis.set(keys.taker, '1', 'PX', presentMs);
  await say();
  const saying = setInterval(() => void say().catch(() => {}), presentMs / 6).unref();
  return () => clearInterval(saying);
}

/** @returns those that were asked for since the last call */
export async function takeAsked(redis: Redis): Promise<(AskedFault & { readonly id: string })[]> {
  const texts = (await redis.lpop(keys.asked, 10)) ?? [];
  return texts.map((text) => JSON.parse(text) as AskedFault & { readonly id: string });
}

export async function answerFault(redis: Redis, id: string, answer: FaultAnswer): Promise<void> {
  const key = keys.answer(id);
  await redis.multi().rpush(key, JSON.stringify(answer)).expire(key, answerWithinSeconds).exec();
}

/** What was asked for and not taken is forgotten. */
export async function stopAccepting(redis: Redis): Promise<void> {
  await redis.del(keys.taker, keys.asked);
}

/** @returns what was done; null when no experiment takes faults. @throws the error it answered */
export const askLab = (lab: Lab, asked: AskedFault): Promise<Bilingual | null> =>
  withRedis(lab.portOf('redis-lab'), async (redis) =>
    (await acceptsFaults(redis)) ? askFault(redis, asked) : null,
  );
