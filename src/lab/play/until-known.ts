/** A slow machine leaves a race undecided. Then it is played again, and the command says so. */
import type { Progress } from '../environment/lab.ts';

const playsMax = 3;

/**
 * @param undecidedBecause why a play counts for nothing; undefined when it counts.
 * @throws the reason of `signal`, before a play.
 */
export async function replayWhileTooSlow<Play>(
  play: () => Promise<Play>,
  undecidedBecause: (play: Play) => string | undefined,
  progress: Progress,
  signal?: AbortSignal,
): Promise<Play> {
  for (let plays = 1; ; plays++) {
    signal?.throwIfAborted();
    const last = await play();
    const reason = undecidedBecause(last);
    if (reason === undefined || plays === playsMax) return last;
    progress(`${reason}. It is played again.`);
  }
}
