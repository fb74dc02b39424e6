/** A figure of several rounds: its median, and how far the rounds are apart. */

export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** @throws RangeError without a value, and with one that is no number. */
export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0 || !values.every(Number.isFinite))
    throw new RangeError(`no spread of [${values.join(', ')}]`);
  const sorted = values.toSorted((one, other) => one - other);
  const at = (place: number) => sorted[place] as number;
  const middle = Math.floor(sorted.length / 2);
  const median = sorted.length % 2 === 1 ? at(middle) : (at(middle - 1) + at(middle)) / 2;
  return { median, least: at(0), most: at(sorted.length - 1) };
}

/** Null as soon as one value is unknown, or no number. */
export function spreadOfKnown(values: readonly (number | null)[]): Spread | null {
  const known = values.filter((value): value is number => Number.isFinite(value));
  return known.length === values.length && known.length > 0 ? spreadOf(known) : null;
}
