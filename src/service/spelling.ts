/** A name that is not known: which known one it is likely to mean. Imports nothing. */

/** True when one name becomes the other by changing, adding or leaving out two letters at most. */
export function differsLittle(one: string, other: string, most = 2): boolean {
  if (most < 0) return false;
  if (one === '' || other === '') return one.length + other.length <= most;
  const [rest, otherRest] = [one.slice(1), other.slice(1)];
  if (one[0] === other[0]) return differsLittle(rest, otherRest, most);
  return (
    differsLittle(rest, otherRest, most - 1) ||
    differsLittle(rest, other, most - 1) ||
    differsLittle(one, otherRest, most - 1)
  );
}

/** ` Did you mean redis-atomic?`, or nothing when no known name is near. */
export function didYouMean(name: string, known: readonly string[]): string {
  const near = [1, 2].map((most) => known.find((each) => differsLittle(name, each, most)));
  const nearest = near.find((each) => each !== undefined);
  return nearest === undefined ? '' : ` Did you mean ${nearest}?`;
}
