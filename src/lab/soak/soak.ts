/**
 * The final rung for as long as you like: a rush without end through nginx, and one fault after the
 * other, each while requests stand at the checkpoints that it is about. Then everything is healed,
 * drained and audited.
 */
import { auditAll, countViolations, findingsOf } from '../drills/audited.ts';
import { judgeUnderFire } from '../drills/under-fire.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { countBy } from '../stage/counts.ts';
import type { Bilingual, Table } from '../stage/result.ts';
import type { Experiment, Stage } from '../stage/stage.ts';
import { inColumns } from '../stage/table.ts';
import { type PlayedFault, playFault } from './play-fault.ts';
import { claimIdleMs, declaredCells, Steering, targets } from './soak-faults.ts';
import { SoakSale } from './soak-sale.ts';

const rung = 'lua-stream';
const perSecond = 200;
const finishWithinMs = 60_000;

/** Two workers, so that one can claim what the other left. */
export const soakShape: ServiceShape = {
  instances: 4,
  balancer: 'nginx',
  network: 'proxied',
  settings: { ORDER_WORKERS: '2', CLAIM_IDLE_MS: String(claimIdleMs) },
};

export interface SoakOptions {
  /** Decides the faults, their order and their length. */
  readonly seed: number;
  readonly minutes: number;
  /** Every declared cell must be seen, and the curve of new cells must be flat. */
  readonly isGated: boolean;
}

export const soak: Experiment<SoakOptions> = {
  about: {
    en: 'a rush on lua-stream without end, and a fault at every checkpoint, in every state',
    zh: 'lua-stream 上不停的抢购，在每个检查点、每种状态下都注入一次故障',
  },
  async play(stage, { seed, minutes, isGated }) {
    await stage.serve(soakShape);
    const title = `soak, seed ${seed}`;
    const sale = new SoakSale(seed, (stock) => stage.putOnSale({ title, stock, rung }));
    await sale.offerPlenty();
    const load = { name: rung, perSecond, purchases: sale, finishWithinMs };
    const played = await stage.during(load, () => playFaults(stage, sale, seed, minutes));
    const vouchers = new Set(sale.purchases.map(({ voucherId }) => voucherId));
    const facts = await stage.allFacts([...vouchers]);
    const audits = auditAll(facts);
    const cells = played.map((each) => each.cells);
    const coverage = coverageOf(declaredCells, cells);
    const bought = { purchases: sale.purchases, tries: stage.tries, facts };
    const judged = judgeUnderFire([bought], { audits, missing: soakGaps(coverage, isGated) });
    const violations = countViolations(audits.flatMap(findingsOf));
    return {
      ...judged,
      figures: { vouchers: facts.length, faults: played.length, violations, ...judged.figures },
      tables: [coverageTable(coverage), faultTable(played)],
      faults: countBy(played.flatMap(({ injected }) => injected)),
    };
  },
};

/** The lab is healed before the last purchases end. */
async function playFaults(
  stage: Stage,
  sale: SoakSale,
  seed: number,
  minutes: number,
): Promise<PlayedFault[]> {
  const endMs = performance.now() + minutes * 60_000;
  const steering = new Steering(targets, seed);
  const played: PlayedFault[] = [];
  try {
    while (performance.now() < endMs) {
      const planned = steering.next();
      const fault = await playFault(stage, sale, planned);
      steering.saw(fault.cells);
      played.push(fault);
      const [number, all] = [played.length, declaredCells.length];
      stage.note({
        en: `${number}. ${steering.seen.size} of ${all} cells: ${fault.text.en}`,
        zh: `${number}. 单元格 ${steering.seen.size}/${all}：${fault.text.zh}`,
      });
      stage.forgetHistory(); // In an hour it would fill the disk.
      await stage.rest(Math.min(planned.restMs, endMs - performance.now()));
    }
    await stage.lab.heal();
  } finally {
    sale.end();
  }
  return played;
}

/** Every fault in order, with its cells. */
const faultTable = (played: readonly PlayedFault[]): Table => ({
  title: { en: 'Faults in order', zh: '故障，按先后' },
  isWide: true,
  legend: {
    ms: { en: 'how long the fault lasted', zh: '故障持续的时间' },
    'missed because': {
      en: 'why no cell counts: the fault did not meet what it was planned for',
      zh: '为什么不计单元格：故障到来时不是计划的那一刻',
    },
  },
  ...inColumns(
    [...played.entries()],
    [
      ['', ([index]) => index + 1],
      [{ en: 'fault', zh: '故障' }, ([, { text }]) => text],
      ['ms', ([, { forMs }]) => forMs],
      [{ en: 'cells', zh: '单元格' }, ([, { cells }]) => cells.join(', ')],
      [{ en: 'missed because', zh: '错过的原因' }, ([, { missed = '' }]) => missed],
    ],
  ),
});

/** @param isGated whether everything must be covered; a short soak cannot do that. */
export const soakGaps = (coverage: Coverage, isGated: boolean): Bilingual[] => [
  ...(isGated ? coverageGaps(coverage) : []),
  ...(coverage.seen === 0 ? [noHit] : []),
];

const noHit: Bilingual = {
  en: 'no fault hit a request at its checkpoint',
  zh: '没有一次故障命中停在检查点的请求',
};

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
export function coverageGaps({ declared, seen, missing, isFlat, curve }: Coverage): Bilingual[] {
  const unseen = {
    en: `${seen} of ${declared} cells were seen`,
    zh: `${declared} 个单元格只见过 ${seen} 个`,
  };
  const steep = {
    en: `the last of ${curve.length} faults still brought new cells`,
    zh: `${curve.length} 次故障里，最后几次仍带来新单元格`,
  };
  return [...(missing.length > 0 ? [unseen] : []), ...(isFlat ? [] : [steep])];
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
    zh: '已平：最后的故障（总数的十分之一，至少五次）没有带来新单元格',
  },
};

const words = {
  seen: { en: 'seen', zh: '见过' },
  last: { en: 'the last new one', zh: '最后一个新的' },
  new: { en: 'new per tenth', zh: '每份新增' },
  tail: { en: 'the tail', zh: '末尾' },
  flat: { en: 'flat', zh: '已平' },
  steep: { en: 'not flat yet', zh: '未平' },
  unseen: { en: 'not seen', zh: '未见' },
};

const atFault = (number: number, of: number): Bilingual => ({
  en: `at fault ${number} of ${of}`,
  zh: `第 ${number} 次故障（共 ${of} 次）`,
});

/** For people. */
export function coverageTable({ declared, seen, curve, missing, isFlat }: Coverage): Table {
  const lastNew = curve.indexOf(curve.at(-1) ?? 0) + 1;
  const more = missing.length - missingMax;
  return {
    title: { en: 'Coverage', zh: '覆盖率' },
    legend,
    head: [{ en: 'cells', zh: '单元格' }, ''],
    rows: [
      [words.seen, { en: `${seen} of ${declared}`, zh: `${seen}/${declared}` }],
      [words.last, atFault(lastNew, curve.length)],
      [words.new, newCells(curve).join(' ')],
      [words.tail, isFlat ? words.flat : words.steep],
      ...missing.slice(0, missingMax).map((cell) => [words.unseen, cell]),
      ...(more > 0 ? [[words.unseen, { en: `and ${more} more`, zh: `还有 ${more} 个` }]] : []),
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
