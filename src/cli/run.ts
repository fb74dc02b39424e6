import { Option } from 'commander';
import { UnknownRung } from '../errors.ts';
import { defaults } from '../lab/drills/demo-plan.ts';
import { type RunRequest, runRung } from '../lab/drills/run-rung.ts';
import type { Database } from '../lab/environment/servers/database.ts';
import { databaseOf, withLab } from '../lab/environment/session.ts';
import { eventsFile } from '../lab/report/facts-files.ts';
import { writeFiles } from '../lab/report/folder.ts';
import { lessonLines } from '../lab/report/race-text.ts';
import { writeRunFolder } from '../lab/report/run-folder.ts';
import {
  auditLines,
  claimSentence,
  mysqlLines,
  pauseLines,
  pausesReached,
  proofLines,
} from '../lab/report/sentences.ts';
import { costTable, legend, runTable } from '../lab/report/tables.ts';
import { wrap } from '../lab/report/wrap.ts';
import { isRungName, ladder, rungNames } from '../ladder/rungs.ts';
import type { Language } from '../ladder/texts/texts.ts';
import { onStage } from './on-stage.ts';
import { database, json, language, onDatabase, pause, whole } from './options.ts';
import {
  type AddCommand,
  asClaimed,
  type JsonOption,
  type Place,
  print,
  progress,
  setExitCode,
} from './output.ts';

interface RunOptions extends JsonOption, Omit<RunRequest, 'rung' | 'instances' | 'pauses'> {
  readonly database?: Database;
  readonly instances?: number;
  readonly pause?: readonly string[];
  readonly language: Language;
}

export const addRun: AddCommand = (program, place) =>
  program
    .command('run')
    .description('rush one rung through nginx, and audit the result')
    .argument('<rung>', 'a name from `lockstep ladder`')
    .option('--instances <n>', 'API processes that share the requests', whole(1, 16))
    .option('--users <n>', 'users at once; every tenth is eager', whole(1, 10_000), defaults.users)
    .option(
      '--requests-per-eager-user <n>',
      'requests that an eager user sends at once',
      whole(1, 100),
      defaults.requestsPerEagerUser,
    )
    .option('--stock <n>', 'vouchers for sale', whole(0, 1_000_000), defaults.stock)
    .option('--seed <n>', 'decides the order of the users', whole(0, 2 ** 31), defaults.seed)
    .option(
      '--work-ms <n>',
      'time between a sale’s check and its write',
      whole(0, 10_000),
      defaults.workMs,
    )
    .option(
      '--retries <n>',
      'retries of an optimistic sale after a conflict',
      whole(0, 50),
      defaults.retries,
    )
    .option('--pause <where>', 'pause the n-th request at a checkpoint: after-check:1:500', pause)
    .addOption(
      new Option('--balancer <name>', 'shares the requests out')
        .choices(['nginx', 'cluster'])
        .default(defaults.balancer),
    )
    .addOption(language())
    .addOption(database())
    .addOption(json())
    .action((rung: string, options: RunOptions) => run(place, rung, options));

async function run(
  { labFolder, runsFolder }: Place,
  rung: string,
  options: RunOptions,
): Promise<void> {
  if (!isRungName(rung)) throw new UnknownRung(rung, rungNames);
  const { json, language, pause: pauses, database, ...load } = options;
  const { instances = ladder[rung].instances } = options;
  const request: RunRequest = { ...load, rung, instances, pauses: pauses ?? ladder[rung].pauses };
  const used = databaseOf(labFolder, database);
  const { played: done, events } = await withLab(
    labFolder,
    progress,
    (lab, signal, untilInterrupted) =>
      onStage({ lab, signal, untilInterrupted }, progress, (stage) => runRung(request, stage)),
    { database: used },
  );
  const command = commandLine(request) + onDatabase(used);
  const folder = await writeRunFolder(runsFolder, rung, { command, runs: [done] }, used, language);
  writeFiles(folder, eventsFile(events));
  const { workMs, seed } = request;
  const text = () =>
    [
      runTable([done.result]),
      '',
      legend,
      '',
      costTable([done.result]),
      '',
      wrap(claimSentence(done, language)),
      auditLines(done.audit),
      ...proofLines(done),
      '',
      ...pauseLines(done),
      ...mysqlLines(done),
      `workMs ${workMs}, seed ${seed}; check it again: npx lockstep audit ${done.result.voucherId}`,
      `report: ${folder}/index.html`,
      ...lessonLines(rung, language),
    ].join('\n');
  print(json, done.result, text);
  setExitCode(pausesReached(done) ? asClaimed([done.result]) : ['unknown']);
}

/** The command that repeats this run. */
function commandLine(request: RunRequest): string {
  const { rung, instances, users, stock, seed, workMs, requestsPerEagerUser, retries, balancer } =
    request;
  const pauses = request.pauses.map((each) => ` --pause ${each}`).join('');
  return `npx lockstep run ${rung} --instances ${instances} --users ${users} --stock ${stock} --seed ${seed} --work-ms ${workMs} --requests-per-eager-user ${requestsPerEagerUser} --retries ${retries} --balancer ${balancer}${pauses}`;
}
