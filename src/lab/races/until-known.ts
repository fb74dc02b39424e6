/** A slow machine leaves a race undecided. Then it is played again, and the command says so. */
import type { Progress } from '../environment/lab.ts';

const mostPlays = 3;

/**
 * @param undecidedBecause why a play counts for nothing; undefined when it counts.
 * @throws the reason of `signal`, before a play.
 */
export async function untilKnown<Play>(
  play: () => Promise<Play>,
  undecidedBecause: (play: Play) => string | undefined,
  progress: Progress,
  signal?: AbortSignal,
): Promise<{ readonly all: readonly Play[]; readonly last: Play }> {
  const all: Play[] = [];
  for (;;) {
    signal?.throwIfAborted();
    const last = await play();
    all.push(last);
    const reason = undecidedBecause(last);
    if (reason === undefined || all.length === mostPlays) return { all, last };
    progress(`${reason}. It is played again.`);
  }
}
