/** k6/failover.js, the script that people run by hand, as the load of an experiment. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stage } from '../stage/stage.ts';
import { type K6Attempt, type K6Run, runK6 } from '../workload/k6.ts';

/** What the script allows. */
export const k6SecondsMax = 300;

export interface K6Load {
  /** For people. */
  readonly name: string;
  readonly rung: string;
  readonly perSecond: number;
  readonly lastsMs: number;
  /** Without it, the script puts one on sale. */
  readonly voucherId?: string;
}

export interface K6Play<T> {
  readonly run: K6Run;
  readonly answers: readonly K6Attempt[];
  /** What the work returned; undefined when k6 could not begin. */
  readonly done: T | undefined;
}

/**
 * The load, and the work, begin with the first answer. k6 looks for every order after the load.
 * @param ending aborts when k6 has ended; to abort it ends k6
 */
export async function duringK6<T>(
  stage: Stage,
  { name, lastsMs, ...load }: K6Load,
  work: (answers: readonly K6Attempt[]) => Promise<T>,
  ending: AbortController,
): Promise<K6Play<T>> {
  const answers: K6Attempt[] = [];
  const begun = Promise.withResolvers<void>();
  const onAttempt = (attempt: K6Attempt): void => {
    if (answers.length === 0) stage.emit({ kind: 'load-started', name }, attempt.answeredAt);
    answers.push(attempt);
    stage.emit({ kind: 'purchase', attempt, load: name }, attempt.answeredAt);
    begun.resolve();
  };
  const signal = AbortSignal.any([stage.signal, ending.signal]);
  const settings = {
    BASE_URL: stage.lab.baseUrl,
    TOKEN_SECRET: stage.lab.tokenSecret,
    RUNG: load.rung,
    RATE: String(load.perSecond),
    SECONDS: String(Math.ceil(lastsMs / 1_000)),
    WORK_MS: '',
    ANSWER_SECONDS: '5',
    ...(load.voucherId !== undefined && { VOUCHER_ID: load.voucherId }),
  };
  const running = runK6('failover.js', settings, onAttempt, signal).finally(() => ending.abort());
  running.catch(() => {}); // It is awaited below.
  try {
    await Promise.race([begun.promise, running]);
    if (answers.length === 0) return { run: await running, answers, done: undefined };
    const endMs = performance.now() + lastsMs;
    const done = await work(answers);
    await sleep(Math.max(0, endMs - performance.now()), undefined, { signal }).catch(() => {});
    stage.emit({ kind: 'load-ended', name });
    return { run: await running, answers, done };
  } finally {
    ending.abort();
    await Promise.allSettled([running]);
  }
}
