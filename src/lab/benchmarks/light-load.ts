/**
 * An open model with light connections. Each purchase is sent when it is due, whatever became of
 * those before, and its latency counts from then.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { countBy } from '../stage/counts.ts';
import {
  codeOf,
  LightConnections,
  type LightOptions,
  requestText,
} from '../workload/light-connections.ts';
import { percentiles } from '../workload/percentiles.ts';
import type { LoadResult } from './wrk.ts';

export interface LightLoad extends Pick<LightOptions, 'addressOf'> {
  readonly rate: number;
  /** The Authorization header of each request: as many are sent. */
  readonly headers: readonly string[];
}

/** @throws Error when a connection is closed: its request has no answer to wait for. */
export function lightLoad(
  url: string,
  { rate, headers, addressOf }: LightLoad,
  signal: AbortSignal,
): Promise<LoadResult> {
  const { pathname } = new URL(url);
  return LightConnections.use(url, { addressOf }, signal, async (connections, ended) => {
    const measured = new Measured();
    await whenDue(rate, headers.length, ended, (next, dueMs) => {
      const text = requestText('POST', pathname, { Authorization: headers[next] ?? '' });
      connections.ask(text, (answer) => measured.add(codeOf(answer), dueMs));
    });
    while (measured.count < headers.length) await sleep(5, undefined, { signal: ended });
    return measured.result();
  });
}

/** Calls `each` so often in a second, with the moment when it was due. */
export async function whenDue(
  rate: number,
  count: number,
  signal: AbortSignal,
  each: (next: number, dueMs: number) => void,
): Promise<void> {
  const beganMs = performance.now();
  for (let next = 0; next < count; await sleep(1, undefined, { signal })) {
    const dueBy = Math.min(count, ((performance.now() - beganMs) * rate) / 1_000);
    for (; next < dueBy; next++) each(next, beganMs + (next * 1_000) / rate);
  }
}

/** Answers by their code, and their latencies. */
export class Measured {
  readonly #codes: string[] = [];
  readonly #latenciesMs: number[] = [];

  get count(): number {
    return this.#latenciesMs.length;
  }

  add(code: string, dueMs: number): void {
    this.#latenciesMs.push(performance.now() - dueMs);
    this.#codes.push(code);
  }

  result(): LoadResult {
    const { p50: p50Ms, p99: p99Ms } = percentiles(this.#latenciesMs);
    return { answers: countBy(this.#codes), p50Ms, p99Ms };
  }
}
