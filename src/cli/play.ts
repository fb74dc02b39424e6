/**
 * Plays an experiment in the lab: what it emits is printed live, and its result is a folder. Every
 * command that plays one goes through here.
 */

import { type Database, defaultDatabase } from '../lab/environment/servers/database.ts';
import { databaseOf, type Work, withLab } from '../lab/environment/session.ts';
import { defaultProgram, type WorkFolders } from '../lab/environment/work-folders.ts';
import {
  type ExperimentPlan,
  type ExperimentPlay,
  type Written,
  writeReport,
} from '../lab/report/experiment-report.ts';
import { colons, fileLine, reportLine } from '../lab/report/file-words.ts';
import { liveReader } from '../lab/report/live-lines.ts';
import { resultText } from '../lab/report/result-text.ts';
import { verdictWords } from '../lab/report/verdict-words.ts';
import { wrap } from '../lab/report/wrap.ts';
import { countBy } from '../lab/stage/counts.ts';
import type { StageEvent } from '../lab/stage/events.ts';
import { type Bilingual, isAsExpected, textIn } from '../lab/stage/result.ts';
import { play } from '../lab/stage/runner.ts';
import type { Verdict } from '../service/domain.ts';
import type { Language } from '../texts/texts.ts';
import { print, progress, setExitCode } from './output.ts';

interface CommandPlan<Options extends object, Own> extends ExperimentPlan<Options, Own> {
  /** The command has no `--database`: it takes that of the lab. */
  readonly isOnLabDatabase?: true;
  /** Only its notes are printed while it plays: its load is no load. */
  readonly isQuiet?: true;
}

/** Of the options of a command: how it is played, and shown. */
interface Shown {
  /** How often the whole experiment is played; a command whose `times` is another one gives 1. */
  readonly times?: number;
  readonly database?: Database | undefined;
  readonly json: boolean;
  readonly language: Language;
}

type Request<Options extends object, Own> = CommandPlan<Options, Own> &
  Omit<Required<Shown>, 'database'>;

/** At the end of a command that repeats this one. */
export const onDatabase = (used: Database): string =>
  used === defaultDatabase ? '' : ` --database ${used}`;

/** Ctrl-C ends it: then the last play is that far, and is reported all the same. */
export async function playExperiment<Options extends object, Own>(
  { labFolder, runsFolder, program }: WorkFolders,
  { times = 1, database: chosen, json, language }: Shown,
  plan: CommandPlan<Options, Own>,
): Promise<void> {
  const named = (text: string) => text.replace(defaultProgram, program);
  const { repeat } = plan;
  const request = {
    ...plan,
    times,
    json,
    language,
    command: named(plan.command),
    ...(repeat && { repeat: (own: Own) => named(repeat(own)) }),
  };
  const database = databaseOf(labFolder, chosen);
  const ending = plan.isOnLabDatabase ? '' : onDatabase(database);
  const work: Work<void> = async (lab, signal, untilInterrupted) => {
    const plays: ExperimentPlay<Own>[] = [];
    while (plays.length < times && !signal.aborted) {
      plays.push(await playOnce(request, { lab, signal, untilInterrupted }));
      if (times > 1) progress(playedText(plays, times)[language]);
    }
    const written = await writeReport(runsFolder, request, plays, database, ending);
    printResult({ ...request, command: written.about.command }, plays, written);
    setExitCode(plays.map(({ result }) => isAsExpected(result)));
  };
  const tell = tellerOf(request);
  await withLab(labFolder, (text) => tell(text[language]), work, { database });
}

/** The lines of a load are no progress of the command: `--json` leaves them out. */
const tellerOf = <Options extends object, Own>({ json, report }: Request<Options, Own>) =>
  json && !report ? () => {} : progress;

function playedText(plays: readonly ExperimentPlay<unknown>[], times: number): Bilingual {
  const { verdict = 'unknown' } = plays.at(-1)?.result ?? {};
  return {
    en: `${plays.length} of ${times}: ${verdict}`,
    zh: `${plays.length}/${times}：${verdictWords.zh.verdicts[verdict]}`,
  };
}

async function playOnce<Options extends object, Own>(
  request: Request<Options, Own>,
  session: Parameters<typeof play>[3],
): Promise<ExperimentPlay<Own>> {
  const events: StageEvent[] = [];
  const keep = (event: StageEvent) => event.kind !== 'purchase' && events.push(event);
  const { name, experiment, options, isQuiet, report: own, language } = request;
  const tell = tellerOf(request);
  const live = own || isQuiet ? notesReader(tell, language) : liveReader(tell, language);
  const result = await play(name, experiment, options, session, [keep, live.read]).finally(
    live.end,
  );
  return { result, events };
}

/** For an experiment whose own report says what its seconds and marks would. */
const notesReader = (print: (line: string) => void, language: Language) => ({
  read: (event: StageEvent) => event.kind === 'note' && print(textIn(language, event.text)),
  end: () => {},
});

function printResult<Options extends object, Own>(
  { name, experiment, options, times, json, command, language }: Request<Options, Own>,
  plays: readonly ExperimentPlay<Own>[],
  { about: { folder }, result: { recorded, ...brief }, replay, ownReport }: Written<Own>,
): void {
  if (ownReport) {
    print(json, ownReport.data(folder), () => ownReport.text(folder));
    return;
  }
  const counts = countBy(plays.map(({ result: { verdict } }) => verdict));
  print(json, { experiment: name, ...options, times, counts, ...brief, folder }, () =>
    [
      `\n${wrap(name + colons[language] + experiment.about[language])}`,
      resultText(brief, language, recorded.loads),
      ...(times > 1 ? [textIn(language, timesText(plays.length, times, counts))] : []),
      '',
      fileLine('repeat', command, language),
      reportLine(folder, language),
      ...(replay === undefined ? [] : [fileLine('replay', `${folder}/${replay}`, language)]),
    ].join('\n'),
  );
}

function timesText(
  played: number,
  times: number,
  counts: Readonly<Partial<Record<Verdict, number>>>,
): Bilingual {
  const inLanguage = (language: Language) =>
    Object.entries(counts)
      .map(([verdict, count]) => `${count} ${verdictWords[language].verdicts[verdict as Verdict]}`)
      .join(language === 'zh' ? '，' : ', ');
  return {
    en: `run ${played} of ${times} times: ${inLanguage('en')}`,
    zh: `计划 ${times} 次，跑了 ${played} 次：${inLanguage('zh')}`,
  };
}
