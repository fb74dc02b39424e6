import { z } from 'zod';
import {
  database,
  json,
  language,
  pauses,
  rung,
  seedNumber,
  stockOption,
  workMsOption,
} from '../lab/commands/options.ts';
import { commandRow, commandText } from '../lab/commands/row.ts';
import { defaults } from '../lab/drills/demo-plan.ts';
import { type Run, type RunRequest, runExperiment } from '../lab/drills/run-rung.ts';
import { fileLine, reportLine } from '../lab/report/file-words.ts';
import { lessonLines } from '../lab/report/race-text.ts';
import { runFiles } from '../lab/report/run-folder.ts';
import { costTable, runTable } from '../lab/report/run-tables.ts';
import {
  auditLines,
  claimSentence,
  mysqlLines,
  pauseLines,
  proofLines,
  refusedLine,
} from '../lab/report/sentences.ts';
import { tableText } from '../lab/report/table.ts';
import { wrap } from '../lab/report/wrap.ts';
import { ladder } from '../service/ladder/rungs.ts';
import { wholeNumber } from '../service/operate/words.ts';
import type { Language } from '../texts/texts.ts';
import { command } from './command.ts';
import { playExperiment } from './play.ts';

const runRow = commandRow({
  name: 'run',
  about: {
    en: 'rush one rung through nginx, and audit the result',
    zh: '在一个方案上抢购一次（经过 nginx），再审计结果',
  },
  arguments: { rung },
  options: {
    instances: {
      schema: wholeNumber(1, 16).optional(),
      en: 'API processes that share the requests',
      zh: '几个 API 进程分担请求',
      repeat: 'always',
    },
    users: {
      schema: wholeNumber(1, 10_000).default(defaults.users),
      en: 'users at once; every tenth is eager',
      zh: '多少用户同时抢；每十个里有一个连点',
      repeat: 'always',
    },
    stock: { ...stockOption(defaults.stock), repeat: 'always' },
    seed: {
      schema: seedNumber.default(defaults.seed),
      en: 'decides the sequence of the users',
      zh: '决定用户的顺序',
      repeat: 'always',
    },
    workMs: { ...workMsOption(defaults.workMs), repeat: 'always' },
    requestsPerEagerUser: {
      schema: wholeNumber(1, 100).default(defaults.requestsPerEagerUser),
      en: 'requests that an eager user sends at once',
      zh: '连点的用户同时发多少个请求',
      repeat: 'always',
    },
    retries: {
      schema: wholeNumber(0, 50).default(defaults.retries),
      en: 'retries of an optimistic sale after a conflict',
      zh: '乐观锁冲突之后重试几次',
      repeat: 'always',
    },
    balancer: {
      schema: z.enum(['nginx', 'cluster']).default(defaults.balancer),
      value: '<name>',
      en: 'shares the requests out',
      zh: '由谁分发请求',
      repeat: 'always',
    },
    pause: {
      schema: pauses.optional(),
      value: '<where>',
      en: 'pause the n-th request at a checkpoint: after-check:1:500',
      zh: '让第 n 个请求在检查点停住：after-check:1:500',
    },
    language,
    database,
    json,
  },
});

export const addRun = command(runRow, (folders, given) => {
  const { json, language, database, pause, rung, ...load } = given;
  const shown = { json, language, database };
  const { instances = ladder[rung].instances } = given;
  const request: RunRequest = { ...load, rung, instances, pauses: pause ?? ladder[rung].pauses };
  return playExperiment(folders, shown, {
    name: rung,
    experiment: runExperiment,
    options: request,
    command: commandText(runRow, { ...request, pause: [...request.pauses] }),
    report: (done, { plays: _, ...about }) => ({
      files: runFiles({ command: about.command, runs: [done] }, about, language),
      data: () => done.result,
      text: (folder) => runText(done, folder, language),
    }),
  });
});

function runText(run: Run, folder: string, language: Language): string {
  const { result, audit } = run;
  const { rung, workMs, seed, voucherId } = result;
  return [
    tableText(runTable([result]), language),
    '',
    tableText(costTable([result]), language),
    '',
    refusedLine(run, language),
    wrap(claimSentence(run, language)),
    auditLines(audit, language),
    ...proofLines(run, language),
    '',
    ...pauseLines(run, language),
    ...mysqlLines(run, language),
    `workMs ${workMs}, seed ${seed}`,
    fileLine('check', `npx lockstep audit ${voucherId}`, language),
    reportLine(folder, language),
    ...lessonLines(rung, language),
  ].join('\n');
}
