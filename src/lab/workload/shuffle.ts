/** Puts items in an order that a seed decides. */
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** @returns a function that shuffles in place: the seed and the calls before decide how. */
export function shuffler(seed: number): <Item>(items: Item[]) => Item[] {
  const generator = xoroshiro128plus(seed);
  return <Item>(items: Item[]): Item[] => {
    for (let last = items.length - 1; last > 0; last--) {
      const other = uniformInt(generator, 0, last);
      [items[last], items[other]] = [items[other] as Item, items[last] as Item];
    }
    return items;
  };
}
