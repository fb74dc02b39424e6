/**
 * The demo: the point in four rushes, then the whole ladder: rung by rung, every interleaving
 * of two buyers, and race by race.
 */

import ora from 'ora';
import { database, json, language } from '../lab/commands/options.ts';
import { commandRow, commandText, type Given } from '../lab/commands/row.ts';
import {
  allRaces,
  defaults,
  type RaceOnRung,
  rushes,
  serialRuns,
  shortRaces,
} from '../lab/drills/demo-plan.ts';
import { type Run, type RunRequest, runRung } from '../lab/drills/run-rung.ts';
import type { Lab } from '../lab/environment/lab.ts';
import type { Database } from '../lab/environment/servers/database.ts';
import {
  databaseOf,
  type UntilInterrupted,
  type Work,
  withLab,
} from '../lab/environment/session.ts';
import { startedSpares } from '../lab/environment/stores.ts';
import type { WorkFolders } from '../lab/environment/work-folders.ts';
import { type OrdersOfRung, ordersOf } from '../lab/play/all-orders.ts';
import { raceOn, raceOnRung } from '../lab/play/race-on.ts';
import type { PlayedRace } from '../lab/play/race-verdict.ts';
import { rungsWithOrders } from '../lab/play/set-up.ts';
import {
  demoHead,
  headline,
  ordersHead,
  ordersLine,
  raceLine,
  racesHead,
  runLines,
  storyEnd,
  storyHead,
  storyLine,
  storyOf,
} from '../lab/report/demo-lines.ts';
import { withoutFacts } from '../lab/report/folder.ts';
import { openRunFolder, type RunFolder } from '../lab/report/run-folder.ts';
import { emitter, type StageEvent } from '../lab/stage/events.ts';
import { textIn } from '../lab/stage/result.ts';
import { type Stage, withStage } from '../lab/stage/stage.ts';
import { ladder, type RungName } from '../service/ladder/rungs.ts';
import { storyNames } from '../service/ladder/story.ts';
import { flag } from '../service/operate/words.ts';
import type { Bilingual, Language } from '../texts/texts.ts';
import { command } from './command.ts';
import { asClaimed, print, setExitCode } from './output.ts';
import { onDatabase } from './play.ts';

const demoRow = commandRow({
  name: 'demo',
  about: {
    en: 'the point in four lines, then every rung, interleaving and race; writes a report',
    zh: '先用四行说明重点，再走遍每个方案、每种顺序、每个竞态；写一份报告',
  },
  arguments: {},
  options: {
    full: {
      schema: flag,
      en: 'play each race of a fault on every rung that it could break',
      zh: '每个带故障的竞态，在它可能影响的每个方案上都跑一遍',
    },
    language,
    database,
    json,
  },
});
type DemoOptions = Given<typeof demoRow.options>;

export const addDemo = command(demoRow, demo);

type Plan = ReturnType<typeof planOf>;

/** What was played so far. */
interface Results {
  readonly rushes: Map<RunRequest, Run>;
  readonly comparisons: Run[];
  readonly orders: OrdersOfRung[];
  readonly races: PlayedRace[];
}

interface Walk extends Results {
  readonly lab: Lab;
  readonly signal: AbortSignal;
  readonly stream: Stream;
  readonly language: Language;
  readonly planned: number;
  readonly folder: string;
  /** After each result. */
  readonly update: () => void;
  readonly untilInterrupted: UntilInterrupted;
}

const planOf = (full: boolean) => ({
  rushes: rushes(defaults.seed),
  comparisons: serialRuns(defaults.seed),
  orders: rungsWithOrders,
  races: full ? allRaces : shortRaces,
});

async function demo({ labFolder, runsFolder }: WorkFolders, options: DemoOptions): Promise<void> {
  const used = databaseOf(labFolder, options.database);
  const stream = openStream(options.json, options.language);
  const work: Work<void> = async (lab, signal, untilInterrupted) => {
    const folder = await openRunFolder(runsFolder, 'demo', used, options.language);
    await walkAndReport(
      { lab, signal, stream, untilInterrupted },
      folder,
      options,
      commandLine(options.full, used),
    );
  };
  try {
    // The other servers start after the first lines, which need none of them.
    await withLab(labFolder, stream.progress, work, { database: used, spares: [] });
  } finally {
    stream.stop();
  }
}

function commandLine(full: boolean, used: Database): string {
  const own = onDatabase(used);
  if (full) return commandText(demoRow, { full }) + own;
  return own === '' ? 'npm run demo' : `npm run demo --${own}`;
}

/** After Ctrl-C or an error, what was seen until then is printed and written all the same. */
async function walkAndReport(
  session: Pick<Walk, 'lab' | 'signal' | 'stream' | 'untilInterrupted'>,
  folder: RunFolder,
  { full, language, json }: DemoOptions,
  command: string,
): Promise<void> {
  const plan = planOf(full);
  const planned = Object.values(plan).reduce((sum, part) => sum + part.length, 0);
  const results: Results = { rushes: new Map(), comparisons: [], orders: [], races: [] };
  const record = () => ({ command, planned, ...inPlannedOrder(plan, results) });
  const update = () => folder.update(record());
  const { stream } = session;
  stream.expect(planned);
  update();
  try {
    const about = { language, planned, folder: folder.path };
    await walk({ ...session, update, ...about, ...results }, plan);
  } finally {
    stream.stop();
    folder.finish(record());
    report(record(), json, { folder: folder.path, planned, language });
  }
}

/** The rushes of the headline come first, and have their places among the others. */
const inPlannedOrder = (plan: Plan, { rushes, comparisons, orders, races }: Results) => ({
  runs: plan.rushes.flatMap((request) => rushes.get(request) ?? []),
  serial: comparisons,
  orders,
  races,
});

function report(
  record: ReturnType<typeof inPlannedOrder>,
  json: boolean,
  about: { folder: string; planned: number; language: Language },
): void {
  const runs = record.runs.map(({ result }) => result);
  const serial = record.serial.map(({ result }) => result);
  const races = record.races.map(withoutFacts);
  const { orders } = record;
  const all = [...runs, ...serial, ...orders, ...races];
  const { folder, planned } = about;
  print(json, { runs, serial, orders, races, planned, folder }, () => headline(runs, all, about));
  setExitCode(asClaimed(all));
}

async function walk(current: Walk, plan: Plan): Promise<void> {
  await tellStory(current, plan);
  const { lab, stream, language, planned, folder } = current;
  stream.print(storyEnd(planned - current.rushes.size, folder, language));
  await lab.provide(startedSpares, stream.progress);
  stream.print(demoHead(defaults, language));
  let before: Run | undefined;
  for (const request of plan.rushes) {
    const run = current.rushes.get(request) ?? (await rush(current, request));
    stream.print(runLines(run, before, ladder[run.result.rung].chapter, language));
    before = run;
  }
  for (const request of plan.comparisons) current.comparisons.push(await play(current, request));
  stream.print(ordersHead(language));
  for (const rung of plan.orders) stream.print(ordersLine(await orders(current, rung), language));
  stream.print(racesHead(language));
  for (const pair of plan.races) stream.print(raceLine(await race(current, pair), language));
}

/** The four rushes of the headline, which the walk then shows again in their places. */
async function tellStory(current: Walk, plan: Plan): Promise<void> {
  const { stream, language } = current;
  stream.print(`\n${storyHead(language)}`);
  for (const name of storyNames) {
    const request = plan.rushes.find((each) => storyOf(each) === name);
    if (!request) throw new Error(`the demo has no rush for ${name}`);
    stream.print(storyLine(name, await rush(current, request), language));
  }
}

async function rush(current: Walk, request: RunRequest): Promise<Run> {
  const run = await play(current, request);
  current.rushes.set(request, run);
  current.update();
  return run;
}

async function play(current: Walk, request: RunRequest): Promise<Run> {
  const { rung, instances } = request;
  const name = { en: `${rung} on ${instances}`, zh: `${rung}，${instances} 个实例` };
  return onStage(current, name, (stage) => runRung(request, stage));
}

async function orders(current: Walk, rung: RungName): Promise<OrdersOfRung> {
  const name = { en: `every interleaving on ${rung}`, zh: `${rung}，每一种先后顺序` };
  const counted = await onStage(current, name, (stage) => ordersOf(stage, rung));
  current.orders.push(counted);
  current.update();
  return counted;
}

async function race(current: Walk, { race: name, rung }: RaceOnRung): Promise<PlayedRace> {
  const { en, zh } = raceOnRung(name, rung);
  const shown = { en: `race ${en}`, zh };
  const played = await onStage(current, shown, (stage) => raceOn(stage, name, rung));
  current.races.push(played);
  current.update();
  return played;
}

function onStage<T>(
  { lab, signal, stream, untilInterrupted, language }: Walk,
  name: Bilingual,
  play: (stage: Stage) => Promise<T>,
): Promise<T> {
  stream.next(name);
  signal.throwIfAborted();
  const tell = (event: StageEvent) =>
    event.kind === 'note' && stream.note(textIn(language, event.text));
  return untilInterrupted(withStage(lab, signal, play, emitter([tell])));
}

type Stream = ReturnType<typeof openStream>;

/**
 * Results as they come, with a progress line below them on a terminal; plain where piped.
 * @param silent no results, because the caller prints JSON at the end
 */
function openStream(silent: boolean, language: Language) {
  const spinner = ora({
    stream: process.stderr,
    discardStdin: false,
    isSilent: !process.stderr.isTTY,
  });
  let total = 0;
  let step = 0;
  spinner.start({ en: 'starting the lab', zh: '正在启动实验环境' }[language]);
  return {
    /** How many steps there will be. */
    expect: (count: number) => {
      total = count;
    },
    /** The next step begins. */
    next: (name: Bilingual) => {
      step += 1;
      const at = { en: `${step} of ${total}: `, zh: `${step}/${total} ` };
      spinner.text = at[language] + name[language];
    },
    print: (text: string) => {
      spinner.clear();
      if (!silent) console.log(text);
      spinner.render();
    },
    /** On standard error, also where the results are JSON. */
    note: (text: string) => {
      spinner.clear();
      console.error(text);
      spinner.render();
    },
    /** One line about the lab. */
    progress: (text: Bilingual) => {
      spinner.text = text[language];
    },
    stop: () => void spinner.stop(),
  };
}
