/** Asks an instance all the time whether it can sell: GET /readyz, past nginx. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lab } from '../environment/lab.ts';

/** One answer; no answer counts as not ready. */
export interface Readiness {
  /** When it came, by the clock of the tries. */
  readonly at: bigint;
  readonly isReady: boolean;
}

const everyMs = 100;
const answerWithinMs = 3_000;

/** Until `signal` aborts. `answers` grows, in the order of the answers. */
export function askReadiness(
  lab: Pick<Lab, 'portOf'>,
  signal: AbortSignal,
): { readonly answers: readonly Readiness[]; readonly ended: Promise<void> } {
  const answers: Readiness[] = [];
  const url = `http://127.0.0.1:${lab.portOf('api-1')}/readyz`;
  const ask = async () => {
    while (!signal.aborted) {
      const isReady = await fetch(url, { signal: AbortSignal.timeout(answerWithinMs) }).then(
        async (answer) => {
          await answer.arrayBuffer();
          return answer.ok;
        },
        () => false,
      );
      answers.push({ at: process.hrtime.bigint(), isReady });
      await sleep(everyMs, undefined, { signal }).catch(() => {});
    }
  };
  return { answers, ended: ask() };
}
