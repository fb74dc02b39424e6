/** What an experiment leaves in `runs/`, whoever has played it: a command, or the page. */
import type { Language } from '../../texts/texts.ts';
import type { Database } from '../environment/servers/database.ts';
import type { ReportAbout, ScoredCell, StageEvent } from '../stage/events.ts';
import { isAsExpected, type Judged, type Result, type Text } from '../stage/result.ts';
import type { Experiment } from '../stage/stage.ts';
import { chromeTrace } from './chrome-trace.ts';
import { factsFiles, jsonLines, timeStamp, writeFolder } from './folder.ts';
import { describeMachine, type Machine } from './machine.ts';
import { replayFiles, reportFile } from './replay-files.ts';
import { resultMarkdown } from './result-text.ts';

/** An experiment with its options. */
export interface ExperimentPlan<Options extends object, Own> {
  /** Of its folder in runs/. */
  readonly name: string;
  readonly experiment: Experiment<Options, Own>;
  readonly options: Options;
  /** Repeats it: `npx lockstep soak --minutes 3 --seed 1`. */
  readonly command: string;
  /** The same, where what was played decides it. */
  readonly repeat?: (own: Own) => string;
  /** Of its report; without one, that of the browser. */
  readonly language?: Language;
  /** A report of its own, beside the files that every experiment leaves. */
  readonly report?: (own: Own, about: About<Own>) => OwnReport;
}

export interface About<Own> {
  readonly command: string;
  readonly time: string;
  readonly machine: Machine;
  /** Of every play, in order. */
  readonly plays: readonly Judged<Own>[];
}

/** Where the experiment does not end, there is none. */
export interface OwnReport {
  readonly files: Readonly<Record<string, unknown>>;
  /** What the page of the report shows, too. */
  readonly cells?: readonly ScoredCell[];
  /** For `--json`. */
  readonly data: (folder: string) => unknown;
  readonly text: (folder: string) => string;
}

export interface ExperimentPlay<Own> {
  readonly result: Result<Own>;
  /** But for the purchases, which are thousands. */
  readonly events: readonly StageEvent[];
}

export interface Written<Own> {
  readonly about: ReportAbout & { readonly folder: string };
  readonly result: Omit<Result<Own>, 'facts' | 'own'>;
  /** The file that replays it; undefined for an experiment that has none. */
  readonly replay: string | undefined;
  readonly ownReport: OwnReport | undefined;
}

const withEnding = (hint: Text, ending: string): Text =>
  typeof hint === 'string' ? hint + ending : { en: hint.en + ending, zh: hint.zh + ending };

/**
 * Of the first play that is not as expected.
 * @param ending of its commands: the database, where the command has that option
 */
export async function writeReport<Options extends object, Own>(
  runsFolder: string,
  plan: ExperimentPlan<Options, Own>,
  plays: readonly ExperimentPlay<Own>[],
  database: Database,
  ending = '',
): Promise<Written<Own>> {
  const { name, experiment, options, command: planned, repeat, report, language } = plan;
  const shown = plays.find(({ result }) => isAsExpected(result) !== 'yes') ?? plays[0];
  if (!shown) throw new RangeError('an experiment is played at least once');
  const { facts, own, hints = [], ...others } = shown.result;
  const result = { ...others, hints: hints.map((hint) => withEnding(hint, ending)) };
  const command = ((own && repeat?.(own)) ?? planned) + ending;
  const about = { command, time: timeStamp(), machine: await describeMachine(database) };
  const ownAbout = { ...about, plays: plays.map((each) => each.result) };
  const ownReport = own === undefined ? undefined : report?.(own, ownAbout);
  const replay = replayFiles(shown.events);
  const { machine } = about;
  const folder = writeFolder(runsFolder, name, {
    'index.html': reportFile(shown.events, { about, language, cells: ownReport?.cells ?? [] }),
    'result.json': {
      experiment: name,
      about: experiment.about,
      command,
      machine,
      options,
      ...result,
    },
    'report.md': resultMarkdown(command, result, result.recorded.loads, language),
    ...ownReport?.files,
    ...replay,
    'events.jsonl': jsonLines(shown.events),
    'trace.json': JSON.stringify(chromeTrace(shown.events, facts)),
    ...factsFiles(facts.map((each) => ({ facts: each }))),
  });
  return { about: { ...about, folder }, result, replay: Object.keys(replay)[0], ownReport };
}
