/** Every order of the choices, each played once: the first one to the end, then where it forks. */

import { OrderNotReplayed } from '../errors.ts';

/** One whole play: for each choice, the lane that was moved and the lanes that could have been. */
export interface Walk {
  readonly steps: readonly { readonly lane: string; readonly could: readonly string[] }[];
}

/**
 * @param play plays these choices, and then goes on to the end with the first lane that can go
 * @yields each play
 * @throws OrderNotReplayed
 */
export async function* everyOrder<Played extends Walk>(
  play: (choices: string) => Promise<Played>,
): AsyncGenerator<Played> {
  const open = [''];
  for (let prefix = open.pop(); prefix !== undefined; prefix = open.pop()) {
    const played = await play(prefix);
    const choices = choicesOf(played);
    if (!choices.startsWith(prefix)) throw new OrderNotReplayed(prefix, choices);
    yield played;
    for (const [index, { lane, could }] of played.steps.entries())
      if (index >= prefix.length)
        for (const other of could) if (other !== lane) open.push(choices.slice(0, index) + other);
  }
}

export const choicesOf = ({ steps }: Walk): string => steps.map(({ lane }) => lane).join('');
