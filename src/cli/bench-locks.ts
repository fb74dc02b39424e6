import { beginPeriod, labProcesses } from '../lab/benchmarks/cpu-by-role.ts';
import { otherWorkText, targetsTable } from '../lab/benchmarks/figure-text.ts';
import {
  benchmarkLocks,
  type LockCost,
  lockTable,
  lockTarget,
} from '../lab/benchmarks/lock-benchmark.ts';
import { missingForRedisson, openRedisson } from '../lab/benchmarks/redisson-cycles.ts';
import { spreadOfKnown } from '../lab/benchmarks/targets.ts';
import { json, language } from '../lab/commands/options.ts';
import { commandRow, commandText } from '../lab/commands/row.ts';
import type { Lab } from '../lab/environment/lab.ts';
import { withConnections } from '../lab/environment/lab-connections.ts';
import type { OwnReport } from '../lab/report/experiment-report.ts';
import { fileLine } from '../lab/report/file-words.ts';
import { textReport } from '../lab/report/folder.ts';
import { type MeasuredRun, measuredRun, runText } from '../lab/report/machine.ts';
import { blocksText } from '../lab/report/table.ts';
import type { Bilingual } from '../lab/stage/result.ts';
import type { Experiment } from '../lab/stage/stage.ts';
import type { Language } from '../texts/texts.ts';
import { command } from './command.ts';
import { playExperiment } from './play.ts';

interface LockCosts {
  readonly costs: readonly LockCost[];
  readonly otherWork: number | null;
}

const benchLocksRow = commandRow({
  name: 'bench-locks',
  about: {
    en: 'measure the cost of each lock, alone and with fifty contenders',
    zh: '测每种锁的代价：没有竞争时，和五十个竞争者时',
  },
  arguments: {},
  options: { language, json },
});

export const addBenchLocks = command(benchLocksRow, (folders, given) =>
  playExperiment(folders, given, {
    name: 'bench-locks',
    experiment: lockCosts,
    options: {},
    command: commandText(benchLocksRow, {}),
    isOnLabDatabase: true,
    report: (measured, about) => lockReport(measured, measuredRun(about), given.language),
  }),
);

const lockCosts: Experiment<object, LockCosts> = {
  about: {
    en: 'the cost of each lock, alone and with fifty contenders',
    zh: '每种锁的代价：没有竞争时，和五十个竞争者时',
  },
  play: async (stage) => {
    const missing = missingForRedisson();
    if (missing !== null) stage.note(missingText(missing));
    const own = await withConnections(onLockMaster(stage.lab), async (connections) => {
      const redisson = missing === null ? await openRedisson(connections.config.REDIS_URL) : null;
      const client = redisson ? [{ role: 'load' as const, pid: redisson.pid }] : [];
      const endPeriod = beginPeriod(() => [...labProcesses(stage.lab), ...client]);
      try {
        const costs = await benchmarkLocks(connections, redisson, (line) => stage.note(line));
        return { costs, otherWork: endPeriod().otherWork };
      } finally {
        redisson?.close();
      }
    });
    return { verdict: 'held', reasons: [], figures: {}, facts: [], own };
  },
};

const title = { en: 'The cost of each lock', zh: '每种锁的代价' };

function lockReport(
  { costs, otherWork }: LockCosts,
  run: MeasuredRun,
  language: Language,
): OwnReport {
  const missing = missingForRedisson();
  const blocks = [
    lockTable(costs),
    ...targetsTable([lockTarget(costs)]),
    otherWorkText(spreadOfKnown([otherWork])),
    ...(missing === null ? [] : [missingText(missing)]),
    runText(run),
  ];
  const shown = blocksText(blocks, language);
  return {
    files: {
      'costs.json': costs,
      ...textReport(title[language], blocksText(blocks), shown, language),
    },
    data: () => costs,
    text: (folder) => `\n${shown}\n\n${fileLine('report', `${folder}/report.md`, language)}`,
  };
}

const missingText = (what: string): Bilingual => ({
  en: `REDISSON IS MISSING, and has no row. Get ${what}`,
  zh: `缺少 Redisson，表里没有它那一行。要得到它：${what}`,
});

/**
 * On a Redis that does not sync every write to disk, as redis-main does: that would be measured
 * instead.
 */
function onLockMaster({ environment }: Lab): Pick<Lab, 'environment'> {
  const [first = ''] = (environment['REDLOCK_URLS'] ?? '').split(',');
  return { environment: { ...environment, REDIS_URL: first } };
}
