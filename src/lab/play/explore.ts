/** Every order of the choices, each played once: the first one to the end, then where it forks. */
import { LockstepError } from '../../service/errors.ts';
import { labError } from '../errors.ts';

/** One whole play: for each choice, the lane that was moved and the lanes that could have been. */
export interface Walk {
  readonly steps: readonly { readonly lane: string; readonly could: readonly string[] }[];
}

type Play<Played extends Walk> = (choices: string) => Promise<Played>;

/** A machine that is busy may disturb a play. */
const triesMax = 3;

/**
 * @param play plays these choices, and then goes on to the end with the first lane that can go
 * @yields each play
 * @throws ORDER_NOT_REPLAYED, or the error of the play, after three tries
 */
export async function* everyOrder<Played extends Walk>(play: Play<Played>): AsyncGenerator<Played> {
  const open: { choices: string; could: readonly string[] }[] = [{ choices: '', could: [] }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { choices: prefix, could: known } = next;
    const played = await replayed(play, prefix, known);
    const choices = choicesOf(played);
    yield played;
    const forks = played.steps.map(({ could }) => could.join(''));
    for (const [index, { lane, could }] of played.steps.entries())
      if (index >= prefix.length)
        for (const other of could)
          if (other !== lane)
            open.push({
              choices: choices.slice(0, index) + other,
              could: forks.slice(0, index + 1),
            });
  }
}

/** @param known the lanes that could go at each of these choices, when they were played before */
async function replayed<Played extends Walk>(
  play: Play<Played>,
  prefix: string,
  known: readonly string[],
): Promise<Played> {
  for (let tries = 1; ; tries++)
    try {
      const played = await play(prefix);
      const could = played.steps.map((step) => step.could.join(''));
      const isSame = known.every((lanes, index) => could[index] === lanes);
      if (choicesOf(played).startsWith(prefix) && isSame) return played;
      throw labError('ORDER_NOT_REPLAYED', prefix, choicesOf(played));
    } catch (error) {
      if (!(error instanceof LockstepError) || tries === triesMax) throw error;
    }
}

export const choicesOf = ({ steps }: Walk): string => steps.map(({ lane }) => lane).join('');
