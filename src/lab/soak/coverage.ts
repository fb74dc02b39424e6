/** How much of the declared cells a soak has seen, and when. Pure. */
import type { Table } from '../stage/result.ts';

export interface Coverage {
  readonly declared: number;
  readonly seen: number;
  /** After each fault: how many cells were seen by then. */
  readonly curve: readonly number[];
  readonly missing: readonly string[];
  /** The last faults, a tenth of all and five at least, brought no new cell. */
  readonly isFlat: boolean;
}

/** @param reached the cells of each fault, in order */
export function coverageOf(
  declared: readonly string[],
  reached: readonly (readonly string[])[],
): Coverage {
  const seen = new Set<string>();
  const curve = reached.map((cells) => {
    for (const cell of cells) seen.add(cell);
    return seen.size;
  });
  const tail = Math.max(5, Math.ceil(curve.length / 10));
  return {
    declared: declared.length,
    seen: declared.filter((cell) => seen.has(cell)).length,
    curve,
    missing: declared.filter((cell) => !seen.has(cell)),
    isFlat: curve.length > tail && curve.at(-1) === curve.at(-1 - tail),
  };
}

/** What a soak that must cover everything lacks. */
export function coverageGaps({ declared, seen, missing, isFlat, curve }: Coverage): string[] {
  const gaps = missing.length > 0 ? [`${seen} of ${declared} cells were seen`] : [];
  if (!isFlat) gaps.push(`the last of ${curve.length} faults still brought new cells`);
  return gaps;
}

const missingMax = 10;

const legend = {
  cells: {
    en: 'a checkpoint, a fault and a state of the sale: seen when a request stood there in that state as the fault came',
    zh: '一个检查点、一种故障和秒杀的一个状态：故障到来时，有请求停在该检查点，且秒杀处于该状态，才算见过',
  },
  'new per tenth': {
    en: 'the faults in ten parts, in order: how many new cells each brought',
    zh: '把故障按先后分成十份：每一份带来多少个新单元格',
  },
  'the tail': {
    en: 'flat: the last faults, a tenth of all and five at least, brought no new cell',
    zh: 'flat：最后的故障（总数的十分之一，至少五个）没有带来新单元格',
  },
};

/** For people. */
export function coverageTable({ declared, seen, curve, missing, isFlat }: Coverage): Table {
  const lastNew = curve.indexOf(curve.at(-1) ?? 0) + 1;
  const more = missing.length - missingMax;
  return {
    title: 'Coverage',
    legend,
    head: ['cells', ''],
    rows: [
      ['seen', `${seen} of ${declared}`],
      ['the last new one', `at fault ${lastNew} of ${curve.length}`],
      ['new per tenth', newCells(curve).join(' ')],
      ['the tail', isFlat ? 'flat' : 'not flat yet'],
      ...missing.slice(0, missingMax).map((cell) => ['not seen', cell]),
      ...(more > 0 ? [['not seen', `and ${more} more`]] : []),
    ],
  };
}

const parts = 10;

/** The curve of new cells: how many each tenth of the faults brought. */
export function newCells(curve: readonly number[]): number[] {
  const size = Math.max(1, Math.ceil(curve.length / parts));
  const ends = Array.from({ length: Math.ceil(curve.length / size) }, (_, part) =>
    Math.min(curve.length, (part + 1) * size),
  );
  const seenAt = (faults: number) => curve[faults - 1] ?? 0;
  return ends.map((end, part) => seenAt(end) - seenAt(ends[part - 1] ?? 0));
}
