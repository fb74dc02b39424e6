/** A slow machine leaves a race undecided. Then it is played again, and the command says so. */
import type { Progress } from '../environment/lab.ts';

const mostPlays = 3;

/** @param undecidedBecause why a play proves nothing; undefined when it proves something. */
export async function untilKnown<Play>(
  play: () => Promise<Play>,
  undecidedBecause: (play: Play) => string | undefined,
  progress: Progress,
): Promise<{ readonly all: readonly Play[]; readonly last: Play }> {
  const all: Play[] = [];
  for (;;) {
    const last = await play();
    all.push(last);
    const reason = undecidedBecause(last);
    if (reason === undefined || all.length === mostPlays) return { all, last };
    progress(`${reason}. It is played again.`);
  }
}
