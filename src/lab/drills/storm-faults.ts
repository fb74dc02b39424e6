/**
 * The faults of a storm, from a seed: kills and pauses in two sequences at the same time, one for
 * the stores and nginx, one for the processes of the service. No server is in both, so that each
 * fault has its own undo.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { Fault } from '../faults/fault.ts';
import { faultOn } from '../faults/faults.ts';
import type { Stage } from '../stage/stage.ts';

/** Servers that do the same; each fault picks one of them. */
export type Role = readonly [name: string, servers: readonly string[]];

export interface StormFault {
  readonly fault: Fault;
  /** `kill instance`: the same for every instance. */
  readonly kind: string;
  /** From the undo of the fault before. */
  readonly afterMs: number;
  /** From the injection to the undo. */
  readonly forMs: number;
}

const verbs = ['kill', 'pause'] as const;
/** A pause may outlast the time after which another worker claims the orders. */
const longestMs = { kill: 1_500, pause: 6_000 } as const;

/** Every kind of fault once in a random order, then all again, without end. */
export function* stormFaults(roles: readonly Role[], seed: number): Generator<StormFault> {
  const generator = xoroshiro128plus(seed);
  const upTo = (most: number) => uniformInt(generator, 0, most);
  for (;;) {
    const kinds = verbs.flatMap((verb) =>
      roles.map(([name, servers]) => ({ verb, name, servers })),
    );
    while (kinds.length > 0) {
      const [{ verb, name, servers }] = kinds.splice(upTo(kinds.length - 1), 1) as [
        (typeof kinds)[number],
      ];
      const server = servers[upTo(servers.length - 1)] ?? name;
      // Most faults are short, so that many happen; few are long.
      const forMs = 200 + Math.round((upTo(1_000) / 1_000) ** 3 * longestMs[verb]);
      yield {
        fault: faultOn(verb, server),
        kind: `${verb} ${name}`,
        afterMs: upTo(1_000),
        forMs,
      };
    }
  }
}

/**
 * Injects the faults until `over` aborts; each is undone before the next, and the last one too.
 * @returns the kinds, in order.
 */
export async function playStorm(
  stage: Stage,
  faults: Iterable<StormFault>,
  over: AbortSignal,
): Promise<string[]> {
  const played: string[] = [];
  const signal = AbortSignal.any([stage.signal, over]);
  const rest = (ms: number) => sleep(ms, undefined, { signal }).catch(() => {});
  for (const { fault, kind, afterMs, forMs } of faults) {
    await rest(afterMs);
    if (signal.aborted) break;
    const undo = await stage.inject(fault);
    await rest(forMs);
    await undo();
    played.push(kind);
  }
  return played;
}
