import { Option } from 'commander';
import { defaults } from '../lab/drills/demo-plan.ts';
import { type Run, type RunRequest, runExperiment } from '../lab/drills/run-rung.ts';
import type { Database } from '../lab/environment/servers/database.ts';
import { fileLine, reportLine } from '../lab/report/file-words.ts';
import { lessonLines } from '../lab/report/race-text.ts';
import { runFiles } from '../lab/report/run-folder.ts';
import {
  auditLines,
  claimSentence,
  mysqlLines,
  pauseLines,
  proofLines,
} from '../lab/report/sentences.ts';
import { costTable, runTable } from '../lab/report/tables.ts';
import { verdictWords } from '../lab/report/verdict-words.ts';
import { wrap } from '../lab/report/wrap.ts';
import { serviceError } from '../service/errors.ts';
import { isRungName, ladder, rungNames } from '../service/ladder/rungs.ts';
import type { Language } from '../texts/texts.ts';
import { database, json, language, pause, whole } from './options.ts';
import type { AddCommand, JsonOption, WorkFolders } from './output.ts';
import { playExperiment } from './play.ts';

interface RunOptions extends JsonOption, Omit<RunRequest, 'rung' | 'instances' | 'pauses'> {
  readonly database?: Database;
  readonly instances?: number;
  readonly pause?: readonly string[];
  readonly language: Language;
}

export const addRun: AddCommand = (program, folders) =>
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
    .action((rung: string, options: RunOptions) => run(folders, rung, options));

function run(folders: WorkFolders, rung: string, options: RunOptions): Promise<void> {
  if (!isRungName(rung)) throw serviceError('UNKNOWN_RUNG', rung, rungNames);
  const { json, language, pause: pauses, database, ...load } = options;
  const { instances = ladder[rung].instances } = options;
  const request: RunRequest = { ...load, rung, instances, pauses: pauses ?? ladder[rung].pauses };
  return playExperiment(folders, {
    ...{ name: rung, experiment: runExperiment, options: request },
    command: commandLine(request),
    ...{ times: 1, database, json },
    report: (done, { plays: _, ...about }) => ({
      files: runFiles({ command: about.command, runs: [done] }, about, language),
      data: () => done.result,
      text: (folder) => runText(done, folder, language),
    }),
  });
}

function runText(run: Run, folder: string, language: Language): string {
  const { result, audit } = run;
  const { rung, workMs, seed, voucherId } = result;
  return [
    runTable([result], language),
    '',
    verdictWords[language].legend,
    '',
    costTable([result], language),
    '',
    verdictWords[language].costLegend,
    '',
    wrap(claimSentence(run, language)),
    auditLines(audit, language),
    ...proofLines(run, language),
    '',
    ...pauseLines(run),
    ...mysqlLines(run),
    `workMs ${workMs}, seed ${seed}`,
    fileLine('check', `npx lockstep audit ${voucherId}`, language),
    reportLine(folder, language),
    ...lessonLines(rung, language),
  ].join('\n');
}

/** The command that repeats this run. */
function commandLine(request: RunRequest): string {
  const { rung, instances, users, stock, seed, workMs, requestsPerEagerUser, retries, balancer } =
    request;
  const pauses = request.pauses.map((each) => ` --pause ${each}`).join('');
  return `npx lockstep run ${rung} --instances ${instances} --users ${users} --stock ${stock} --seed ${seed} --work-ms ${workMs} --requests-per-eager-user ${requestsPerEagerUser} --retries ${retries} --balancer ${balancer}${pauses}`;
}
