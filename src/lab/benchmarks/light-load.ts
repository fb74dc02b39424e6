/**
 * An open model with light connections. Each purchase is sent when it is due, whatever became of
 * those before, and its latency counts from then.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, LightConnections, requestText } from '../workload/light-connections.ts';
import { percentiles } from '../workload/percentiles.ts';
import type { Answers } from './wrk.ts';

export interface LightLoad {
  readonly rate: number;
  /** The Authorization header of each request: as many are sent. */
  readonly headers: readonly string[];
  /** Of this end of a connection; otherwise all have the same one. */
  readonly addressOf?: (connection: number) => string;
}

export interface LightResult {
  readonly answers: Answers;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** @throws Error when a connection is closed: its request has no answer to wait for. */
export async function lightLoad(
  url: string,
  { rate, headers, addressOf }: LightLoad,
  signal: AbortSignal,
): Promise<LightResult> {
  const { pathname } = new URL(url);
  const connections = await LightConnections.open(url, { addressOf });
  const over = new AbortController();
  const measured = new Measured();
  const send = async (): Promise<LightResult> => {
    const ended = AbortSignal.any([signal, over.signal]);
    await whenDue(rate, headers.length, ended, (next, dueMs) => {
      const text = requestText('POST', pathname, { Authorization: headers[next] ?? '' });
      connections.ask(text, (answer) => measured.add(codeOf(answer), dueMs));
    });
    while (measured.count < headers.length) await sleep(5, undefined, { signal: ended });
    return measured.result();
  };
  try {
    return await Promise.race([send(), connections.closed]);
  } finally {
    over.abort();
    connections.close();
  }
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
  readonly #answers: Record<string, number> = {};
  readonly #latenciesMs: number[] = [];

  get count(): number {
    return this.#latenciesMs.length;
  }

  add(code: string, dueMs: number): void {
    this.#latenciesMs.push(performance.now() - dueMs);
    this.#answers[code] = (this.#answers[code] ?? 0) + 1;
  }

  result(): LightResult {
    const { p50: p50Ms, p99: p99Ms } = percentiles(this.#latenciesMs);
    return { answers: this.#answers, p50Ms, p99Ms };
  }
}
