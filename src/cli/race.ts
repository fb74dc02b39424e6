import { UnknownRung } from '../errors.ts';
import type { Database } from '../lab/environment/servers/database.ts';
import { type Work, withLab } from '../lab/environment/session.ts';
import { RaceMissing, UnknownRace } from '../lab/errors.ts';
import { raceOn } from '../lab/races/race-on.ts';
import type { PlayedRace } from '../lab/races/race-verdict.ts';
import { type RaceName, raceNames, schedules } from '../lab/races/schedules.ts';
import { eventsFile, factsFiles, withoutFacts } from '../lab/report/facts-files.ts';
import { writeFolder } from '../lab/report/folder.ts';
import { racePage } from '../lab/report/race-page.ts';
import { raceText } from '../lab/report/race-text.ts';
import { told } from '../lab/report/step-words.ts';
import { wrap } from '../lab/report/wrap.ts';
import { isRungName, rungNames } from '../ladder/rungs.ts';
import type { Language } from '../ladder/texts/texts.ts';
import { type OnStage, onStage } from './on-stage.ts';
import { database, json, language, whole } from './options.ts';
import {
  type AddCommand,
  asClaimed,
  type JsonOption,
  type Place,
  print,
  progress,
  setExitCode,
} from './output.ts';

interface RaceOptions extends JsonOption {
  readonly database?: Database;
  readonly rung?: string;
  readonly times: number;
  readonly language: Language;
}

export const addRace: AddCommand = (program, place) =>
  program
    .command('race')
    .description('play a famous race step by step through nginx, on the rung with the bug')
    .argument('[name]', 'one of those that --list shows')
    .option('--list', 'list the races: their rung, and what they show', false)
    .option('--rung <rung>', 'play it on this rung instead')
    .option('--times <n>', 'number of plays', whole(1, 1_000), 1)
    .addOption(language())
    .addOption(database())
    .addOption(json())
    .action((name: string | undefined, { list, ...options }: RaceOptions & { list: boolean }) =>
      list ? listRaces(options) : race(place, name, options),
    );

function listRaces({ json, language }: RaceOptions): void {
  const all = raceNames.map((name) => {
    const { title, rung } = schedules[name];
    return { name, rung, title: told(title, language) };
  });
  print(json, all, () =>
    all
      .map(({ name, rung, title }) => `${name}, on ${rung}\n${wrap(`    ${title}`, 79, '    ')}`)
      .join('\n'),
  );
}

async function race(
  { labFolder, runsFolder }: Place,
  name: string | undefined,
  { json, rung, times, database, language }: RaceOptions,
): Promise<void> {
  if (name === undefined) throw new RaceMissing();
  if (!isRaceName(name)) throw new UnknownRace(name, raceNames);
  const on = rung ?? schedules[name].rung;
  if (!isRungName(on)) throw new UnknownRung(on, rungNames);
  const play: Work<OnStage<PlayedRace>[]> = (lab, signal, untilInterrupted) =>
    playTimes(times, () =>
      onStage({ lab, signal, untilInterrupted }, progress, (stage) => raceOn(stage, name, on)),
    );
  const plays = await withLab(labFolder, progress, play, { database });
  const played = plays.map((each) => each.played);
  const { played: shown, events = [] } =
    plays.find((each) => !each.played.asClaimed) ?? plays[0] ?? {};
  if (!shown) throw new RangeError('a race is played at least once');
  const count = {
    times,
    violated: played.filter(({ verdict }) => verdict === 'violated').length,
    asClaimed: played.filter((each) => each.asClaimed).length,
  };
  const files = {
    'race.json': withoutFacts(shown),
    'index.html': racePage(shown, language),
    ...factsFiles([shown]),
    ...eventsFile(events),
  };
  const folder = writeFolder(runsFolder, `race-${name}-${on}`, files);
  const counted = `played ${times} times: ${count.violated} violated, ${count.asClaimed} as claimed\n`;
  const where = `picture: ${folder}/index.html\nagain, without servers: npx lockstep replay ${folder}/race.json`;
  print(json, { ...withoutFacts(shown), count }, () =>
    [raceText(shown, language), '', ...(times > 1 ? [counted] : []), where].join('\n'),
  );
  setExitCode(asClaimed(played));
}

async function playTimes(
  times: number,
  play: () => Promise<OnStage<PlayedRace>>,
): Promise<OnStage<PlayedRace>[]> {
  const plays: OnStage<PlayedRace>[] = [];
  while (plays.length < times) {
    plays.push(await play());
    if (times > 1) progress(`${plays.length} of ${times}: ${plays.at(-1)?.played.verdict}`);
  }
  return plays;
}

const isRaceName = (name: string): name is RaceName => Object.hasOwn(schedules, name);
