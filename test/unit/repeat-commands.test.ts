/** The command that repeats what a command has played: it stands in every report. */
import { Command } from 'commander';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { AddCommand } from '../../src/cli/command.ts';
import { workFolders } from '../../src/lab/environment/work-folders.ts';
import { shellWords } from './terminal.ts';

const playExperiment = vi.fn((..._: { readonly command: string }[]) => {});
const mocked = {
  '../../src/cli/play.ts': { playExperiment },
  '../../src/lab/benchmarks/targets.ts': { readRecordedFigures: vi.fn() },
  '../../src/lab/benchmarks/other-service.ts': { readOtherService: vi.fn() },
};
let commands: readonly AddCommand[] = [];

/** The files of the unit tests share their modules: the commands are loaded anew, and forgotten. */
beforeAll(async () => {
  vi.resetModules();
  for (const [path, module] of Object.entries(mocked)) vi.doMock(path, () => module);
  vi.doMock('../../src/service/config.ts', async (original) => ({
    ...(await original<object>()),
    instancesByDefault: () => 2,
  }));
  const modules: readonly Readonly<Record<string, AddCommand>>[] = await Promise.all([
    import('../../src/cli/bench.ts'),
    import('../../src/cli/bench-locks.ts'),
    import('../../src/cli/by-hand.ts'),
    import('../../src/cli/drill.ts'),
    import('../../src/cli/erratum.ts'),
    import('../../src/cli/mutants.ts'),
    import('../../src/cli/race.ts'),
    import('../../src/cli/run.ts'),
    import('../../src/cli/scoreboard.ts'),
  ]);
  commands = modules.flatMap((module) => Object.values(module));
});
afterAll(() => {
  for (const path of [...Object.keys(mocked), '../../src/service/config.ts']) vi.doUnmock(path);
  vi.resetModules();
});

async function repeatOf(words: string): Promise<string | undefined> {
  const program = new Command().exitOverride();
  for (const add of commands) add(program, workFolders({}));
  playExperiment.mockClear();
  await program.parseAsync(shellWords(words), { from: 'user' });
  return playExperiment.mock.calls[0]?.[2]?.command;
}

const usual =
  '--users 100 --stock 20 --seed 1 --work-ms 100 --requests-per-eager-user 8 --retries 0';

const repeats: Readonly<Record<string, string>> = {
  soak: 'soak --minutes 3 --seed 1',
  'soak --minutes 0.5 --seed 7 --gate --database mysql --json':
    'soak --minutes 0.5 --seed 7 --gate',
  drill: 'drill kill-storm --minutes 0.5 --seed 1',
  'drill stop-masters --seed 3 --times 4 --language zh':
    'drill stop-masters --minutes 0.5 --seed 3',
  'drill --minutes 2 --json': 'drill kill-storm --minutes 2 --seed 1',
  "drill --on redlock --faults '1 stop redis-2, 2 start redis-2'":
    "drill --on redlock --faults '1 stop redis-2, 2 start redis-2' --per-second 100 --minutes 0.5",
  "drill --on fenced --beside redlock --arrivals rush --minutes 2 --per-second 5 --faults '1 heal'":
    "drill --on fenced --faults '1 heal' --beside redlock --arrivals rush --per-second 5 --minutes 2",
  'break redlock': 'break redlock --per-second 100 --minutes 5',
  'break redlock --beside lua-stream --minutes 0.5 --per-second 50':
    'break redlock --beside lua-stream --per-second 50 --minutes 0.5',
  'break lua-stream --arrivals k6': 'break lua-stream --arrivals k6 --per-second 100 --minutes 5',
  scoreboard: 'scoreboard',
  'scoreboard --times 3 --faults waiter-dies --rungs redlock,redis-owner':
    'scoreboard --rungs redlock,redis-owner --faults waiter-dies --times 3',
  mutants: 'mutants',
  'mutants --only not-idempotent --times 3 --only no-claim-loop':
    'mutants --only not-idempotent --only no-claim-loop',
  'trial worker-dies --language zh': 'trial worker-dies',
  erratum: 'erratum',
  'erratum lua-rolls-back --json': 'erratum lua-rolls-back',
  'race dead-holder': 'race dead-holder --rung redis-no-expiry',
  'race dead-holder --rung redis-owner --times 5 --database mysql':
    'race dead-holder --rung redis-owner',
  'race --choices a,abb --rung redis-atomic': 'race --choices AABB --rung redis-atomic',
  'race --commands --choices AAXAB --every-checkpoint --rung redis-atomic --times 2':
    'race --choices AAXAB --rung redis-atomic --every-checkpoint --commands',
  'race --all-orders': 'race --all-orders',
  'race --all-orders redis-atomic': 'race --all-orders redis-atomic',
  'run lua-stream': `run lua-stream --instances 4 ${usual} --balancer nginx`,
  'run mutex-per-user --pause after-check:1:500 --instances 4 --users 7 --pause after-check:2:20 --json':
    'run mutex-per-user --instances 4 --users 7 --stock 20 --seed 1 --work-ms 100 --requests-per-eager-user 8 --retries 0 --balancer nginx --pause after-check:1:500 --pause after-check:2:20',
  'run redis-owner --balancer cluster --retries 0 --requests-per-eager-user 2 --work-ms 1 --seed 9 --stock 3':
    'run redis-owner --instances 4 --users 100 --stock 3 --seed 9 --work-ms 1 --requests-per-eager-user 2 --retries 0 --balancer cluster',
  bench: 'bench',
  'bench --ladder --instances 2': 'bench --ladder',
  'bench --rung redlock --seconds 1 --rounds 3 --connections 64 --instances 3':
    'bench --rung redlock --seconds 1 --rounds 3 --connections 64 --instances 3',
  'bench saturate --rate 100 --rung lua-stream': 'bench saturate --rung lua-stream --rate 100',
  'bench waiting --line 10 --rate 5': 'bench waiting --rate 5 --line 10',
  'bench --by-script': 'bench --orders 1000000 --by-script',
  'bench --by-script --orders 20000 --json': 'bench --orders 20000 --by-script',
  'bench-locks': 'bench-locks',
  'bench --gate runs/latest/bench.json': 'bench --gate runs/latest/bench.json',
  'bench --beside other.json --seconds 2': 'bench --beside other.json --seconds 2',
};

test.each(Object.entries(repeats))('after `%s` it is `%s`', async (words, repeat) => {
  expect(await repeatOf(words)).toBe(`npx lockstep ${repeat}`);
});

test.each([
  ['drill --on redlock', 'DRILL_INCOMPLETE'],
  ["drill --faults '1 heal'", 'DRILL_INCOMPLETE'],
  ['drill --per-second 40', 'DRILL_INCOMPLETE'],
  ['drill --beside redlock', 'DRILL_INCOMPLETE'],
  ["drill kill-storm --on redlock --faults '1 heal'", 'DRILL_HAS_FAULTS'],
  ['drill kill-storm --arrivals rush', 'DRILL_HAS_FAULTS'],
  ["drill --on redlock --faults '1 heal' --seed 7", 'DRILL_HAS_NO_SEED'],
  ["drill --on redlock --beside redlock --faults '1 heal'", 'NOT_BESIDE'],
  ["drill --on redlock --arrivals k6 --per-second 201 --faults '1 heal'", 'K6_TOO_FAST'],
  ['break redlock --beside redlock', 'NOT_BESIDE'],
  ['break redlock --beside fenced --arrivals k6', 'NOT_BESIDE'],
  ['break redlock --beside fair --arrivals k6', 'UNKNOWN_RUNG'],
  ['break redlock --arrivals k6 --per-second 201', 'K6_TOO_FAST'],
])('`%s` is refused: %s', async (words, code) => {
  await expect(repeatOf(words)).rejects.toMatchObject({ code });
});
