/** The workshop: its pages, its exercises, and what a group is shown. */

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { languageOf } from '../../src/cli/command.ts';
import { errorInChinese } from '../../src/cli/errors-zh.ts';
import { addExercise, addHuntBug } from '../../src/cli/exercise.ts';
import { addWorkshop } from '../../src/cli/workshop.ts';
import { workFolders } from '../../src/lab/environment/work-folders.ts';
import { erratumNames } from '../../src/lab/errata/errata.ts';
import { labError } from '../../src/lab/errors.ts';
import { projectFolder } from '../../src/lab/mutants/change.ts';
import {
  exerciseNamed,
  exerciseNames,
  huntName,
  hunts,
  isHunt,
} from '../../src/lab/workshop/exercises.ts';
import { chaptersOf, terminalText } from '../../src/lab/workshop/markdown.ts';
import { filesOf, Mine, startOf } from '../../src/lab/workshop/mine.ts';
import type { Progress, Seen } from '../../src/lab/workshop/progress.ts';
import { slidesPage, slidesStyle } from '../../src/lab/workshop/slides.ts';
import { seenIn, seenWords, stepInTerminal } from '../../src/lab/workshop/step-text.ts';
import { stepsIn, tasksIn, workshopFile } from '../../src/lab/workshop/steps.ts';
import { workshopTexts } from '../../src/lab/workshop/texts.ts';
import { seenOf } from '../../src/lab/workshop/verify.ts';
import { findingsPage } from '../../src/lab/workshop/write-pages.ts';
import { type Language, languages } from '../../src/texts/texts.ts';
import { newDataFolder } from '../support/data-home.ts';

const read = (path: string): string => readFileSync(join(projectFolder, path), 'utf8');
const taskNames = [...exerciseNames, ...hunts.map((_, index) => huntName(index + 1))];
const withoutLanguage = (words: readonly string[]): string =>
  words.join(' ').replace(' --language zh', '');

const wordsOfSolutions = /c1|2\^53|give|given|header|half|还了|数到|一半/;

describe.each(languages)('the steps in %s', (language) => {
  const steps = stepsIn(language);

  test('are ten, each with three choices of which one is right', () => {
    expect(steps).toHaveLength(10);
    for (const { title, choices, right } of steps) {
      const letters = choices.map(({ letter }) => letter);
      expect(letters, title).toEqual(['A', 'B', 'C']);
      expect(letters, title).toContain(right);
    }
  });

  test('name code and exercises that are there, and show what each command printed', () => {
    for (const { title, places, plays, seen, exercise } of steps) {
      expect(Math.min(places.length, plays.length), title).toBeGreaterThan(0);
      for (const { file, text } of places) expect(read(file), `${title}: ${file}`).toContain(text);
      const commands = plays.map((words) => `$ npx lockstep ${words.join(' ')}`);
      expect(seen.map((output) => output.split('\n')[0])).toEqual(commands);
      for (const [, name = ''] of exercise.matchAll(/npx lockstep exercise ([\w-]+)/g))
        expect(() => exerciseNamed(name)).not.toThrow();
    }
    const recorded = readFileSync(workshopFile('seen.txt', language), 'utf8');
    expect(`${steps.flatMap(({ seen }) => seen).join('\n\n\n')}\n`).toBe(recorded);
  });

  test('have a text, hints and a solution for every exercise and every hunt', () => {
    const tasks = tasksIn(language);
    expect([...tasks.keys()]).toEqual(taskNames);
    for (const [name, { title, text, hints, solution }] of tasks) {
      expect(hints, name).toHaveLength(3);
      for (const part of [title, text, solution, ...hints]) expect(part.length).toBeGreaterThan(2);
      if (isHunt(name)) expect(title).not.toMatch(wordsOfSolutions);
    }
  });
});

test('both languages play the same', () => {
  const played = (language: Language) =>
    stepsIn(language).map(({ plays, right }) => [right, ...plays.map(withoutLanguage)]);
  expect(played('zh')).toEqual(played('en'));
});

test.each(taskNames)('%s changes files of the project, and is tried by commands', (name) => {
  const exercise = exerciseNamed(name);
  // Each of its texts once.
  for (const path of filesOf(exercise)) expect(startOf(name, exercise, path)).not.toBe(read(path));
  expect(exercise.plays.length).toBeGreaterThan(0);
  for (const play of exercise.plays) expect(play).toMatch(/^(race|run|trial) /);
});

/** @returns what the command printed */
async function said(workshopHome: string, ...words: readonly string[]): Promise<string> {
  const log = vi.spyOn(console, 'log').mockReturnValue();
  const program = new Command();
  const folders = { ...workFolders({}), workshopHome };
  for (const add of [addExercise, addHuntBug, addWorkshop]) add(program, folders);
  await program.parseAsync(words, { from: 'user' });
  const printed = log.mock.calls.join('\n');
  log.mockRestore();
  return printed;
}

describe('the files of a learner', () => {
  const home = newDataFolder();
  const run = (words: string) => said(home, ...words.split(' '), '--language', 'en');
  const own = 'lua/locks/release-if-owner.lua';
  const fileIn = (folder: string) => join(home, folder, own);
  const write = (text: string) => writeFileSync(fileIn('workshop/own-your-lock'), text);
  beforeEach(() => run('exercise own-your-lock'));
  afterEach(() => rmSync(home, { recursive: true }));

  test('are as they were left after another exercise', async () => {
    write('-- mine\n');
    await run('exercise claim-the-rest');
    const printed = await run('exercise own-your-lock');
    expect(printed).toContain('your files are as you left them');
    expect(readFileSync(fileIn('workshop/own-your-lock'), 'utf8')).toBe('-- mine\n');
    expect(new Mine(home).begun()).toBe('own-your-lock');
  });

  test.each(['--again', '--solution'])(
    'are kept by %s each time, which says where',
    async (way) => {
      for (const number of [1, 2]) {
        write(`-- mine ${number}\n`);
        const printed = await run(`exercise own-your-lock ${way}`);
        const folder = `workshop/own-your-lock-before-${number}`;
        expect(printed).toContain(`kept in\n    ${relative(projectFolder, join(home, folder))}`);
        expect(readFileSync(fileIn(folder), 'utf8')).toBe(`-- mine ${number}\n`);
        expect(readFileSync(fileIn('workshop/own-your-lock'), 'utf8')).not.toContain('mine');
      }
    },
  );

  test('are kept by the reset between two groups, which says where', async () => {
    write('-- mine\n');
    const printed = await run('workshop reset');
    expect(printed).toContain(relative(projectFolder, join(home, 'workshop-before-1')));
    expect(readFileSync(fileIn('workshop-before-1/own-your-lock'), 'utf8')).toBe('-- mine\n');
    expect(new Mine(home).begun()).toBeNull();
  });

  test('that were removed are broken again in the copy, never the solution', () => {
    rmSync(fileIn('workshop/own-your-lock'));
    const exercise = exerciseNamed('own-your-lock');
    new Mine(home).copyInto(join(home, 'copy'), 'own-your-lock', exercise);
    const text = readFileSync(fileIn('copy'), 'utf8');
    expect(text).toBe(startOf('own-your-lock', exercise, own));
  });
});

test('a hunt tells neither its defect nor its files before it is asked for hints', async () => {
  const home = newDataFolder();
  const hunt = (...words: readonly string[]) =>
    said(home, 'hunt-bug', '3', ...words, '--language', 'en');
  const files = filesOf(exerciseNamed('bug 3'));
  const begun = await hunt();
  for (const told of [...files, 'c1', 'worker-dies']) expect(begun).not.toContain(told);
  const hints = [];
  for (const number of [1, 2, 3, 4, 5]) hints[number] = await hunt('--hint');
  expect(hints[1]).toContain('Hint 1 of 4');
  expect(hints[1]).toContain('worker-dies');
  for (const file of files) expect(hints[4]).toContain(file);
  expect(hints[5]).toContain('Every process is c1');
  rmSync(home, { recursive: true });
});

describe.each(languages)('the slides in %s', (language) => {
  const page = slidesPage(language, { isInPage: true });
  const slides = page.split('<section>').slice(1);

  test('begin with a picture of the sale, and the titles', () => {
    const { picture } = workshopTexts[language];
    for (const part of ['nginx', 'api-1', 'api-4', 'Redis', picture.worker, 'MySQL'])
      expect(slides[0]).toContain(`>${part}</text>`);
    for (const { title } of stepsIn(language)) expect(slides[1]).toContain(title);
  });

  test('take a click on the whole line of an answer', () => {
    const lines = [...page.matchAll(/<button data-step[^>]*><b>[A-C]<\/b> [^<]+<\/button>/g)];
    expect(lines).toHaveLength(3 * stepsIn(language).length);
  });

  test('show no link that is none: in the page every address is one', () => {
    const addresses = /(.{0,3})<code>\/(?:race|run|break|drills|scoreboard)/g;
    for (const [, before] of page.matchAll(addresses)) expect(before).toMatch(/">$/);
    expect(slidesStyle).not.toMatch(/code \{[^}]*color/);
  });

  const outputs = [...page.matchAll(/<code class="language-text">(.*?)\n<\/code>/gs)].map(
    ([, output = '']) => output,
  );

  test('show a long output on several, so that none scrolls, and each names its command', () => {
    const texts = outputs.map((output) => output.replaceAll(/<\/?i>/g, ''));
    expect(texts.filter((text) => text.split('\n').length > 28)).toEqual([]);
    expect(texts.filter((text) => !text.startsWith('$ npx lockstep'))).toEqual([]);
    const shown = texts.map((text) => text.replace(/^\$.* …\n\n/, '')).join('');
    const all = stepsIn(language)
      .flatMap(({ seen }) => seen)
      .join('');
    const letters = (text: string) => text.replaceAll(/\s|&\w+;|&#\d+;|[<>&"']/g, '');
    expect(letters(shown)).toBe(letters(all));
  });

  test('have a Chinese letter of an output as wide as two others', () => {
    expect(outputs.length).toBeGreaterThan(20);
    expect(outputs.join('\n')).not.toMatch(/[^>][\u2e80-\uffef]/);
  });
});

test('a page is read as chapters with sections, and code begins none', () => {
  const page = '# P\n\n## 1. One\n\nWhy?\n\n**Do.** Go.\n\n    ## no\n\n**Now.** x\n';
  const [chapter, ...others] = chaptersOf(page, ['Do', 'Why']);
  expect(others).toEqual([]);
  expect(chapter).toEqual({
    ...{ title: '1. One', intro: '\n\nWhy?\n\n' },
    sections: new Map([['Do', 'Go.\n\n    ## no\n\n**Now.** x\n']]),
  });
});

test('text in a terminal has no marks, and at most 79 columns', () => {
  const text = terminalText(
    `${'**bold** `code` [link](there) '.repeat(6)}\n\n    code **x**\n\n- one\n`,
  );
  expect(text).not.toMatch(/\]\(|\*\*bold/);
  expect(text).toContain('    code **x**');
  expect(text).toContain('- one');
  expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(79);
});

describe('a step in a terminal', () => {
  const steps = stepsIn('en');
  const [step] = steps;
  const begun: Progress = { step: 0, predictions: {}, seen: {}, exercises: {}, hints: {} };
  const predicted = { ...begun, predictions: { 0: 'A' } };
  const seen = {
    ...predicted,
    seen: {
      0: [{ play: 'race lost-update', answer: 'yes' as const, verdict: 'violated', reasons: [] }],
    },
  };

  test('asks for a prediction, then says what to do, and why once it was played', () => {
    const why = 'Both transactions read';
    const said = (progress: Progress) => stepInTerminal(steps, progress, 'en');
    expect(said(begun)).toContain('workshop predict A|B|C');
    expect(said(begun)).not.toContain(why);
    expect(said(predicted)).toContain('npx lockstep race lost-update');
    expect(said(predicted)).not.toContain(why);
    for (const part of ['You predicted A. B is right.', '✓ race lost-update', why])
      expect(said(seen)).toContain(part);
  });

  test('is part of the findings, with the prediction and the verdict', () => {
    const found = { progress: seen, time: 'now', machine: { node: 'v20' } };
    const page = findingsPage({ steps, ...found }, 'en');
    for (const part of [
      ...['0 of 1 predictions were right.', 'A ✗', 'violated, as the ladder claims'],
      ...[step?.title, 'Left out: 2, 3, 4, 5, 6, 7, 8, 9, 10.'],
    ])
      expect(page).toContain(part);
    expect(page.match(/<tr>/g)).toHaveLength(2); // The head, and the one that was done.
    const inChinese = findingsPage({ steps: stepsIn('zh'), ...found }, 'zh');
    expect(inChinese).toContain('违反，与预期一致');
  });

  test('says what else broke, beside a promise that held', () => {
    const play = { play: 'race x', answer: 'yes' as const, verdict: 'held', reasons: [] };
    const broken = { ...play, alsoBroken: ['mutual-exclusion'] };
    const said = (language: Language, answer: 'yes' | 'no') =>
      seenWords({ ...broken, answer }, workshopTexts[language].asClaimed, language);
    expect(said('en', 'yes')).toBe(
      'held, as the ladder claims; also broken, as the ladder claims: mutual-exclusion',
    );
    expect(said('en', 'no')).toBe('held, NOT as the ladder claims; also broken: mutual-exclusion');
    expect(said('zh', 'yes')).toContain('另外违反（与预期一致）：mutual-exclusion');
    expect(said('zh', 'no')).toContain('另外违反：mutual-exclusion');
  });

  test('of the other language names its language in the commands', () => {
    expect(stepInTerminal(stepsIn('zh'), begun, 'zh')).toContain('predict A|B|C --language zh');
  });
});

test.each(['docs/course.md', 'docs/zh/course.md'])('%s lists the errata by command', (path) => {
  const [, tables = ''] = /<!-- errata-sale -->(.*)<!-- \/errata-java -->/s.exec(read(path)) ?? [];
  const named = [...tables.matchAll(/npx lockstep erratum ([a-z][\w-]+)/g)];
  const cure = 'a row of docs/data/course.json, then npx lockstep docs';
  const listed = [...new Set(named.map(([, name]) => name))].sort();
  expect(listed, cure).toEqual([...erratumNames].sort());
});

describe('the errors of the command line', () => {
  /** Of the rows, and of the classes. */
  const codes = ['src/service/errors.ts', 'src/lab/errors.ts'].flatMap((file) =>
    [...read(file).matchAll(/^ {2}([A-Z\d_]+): \(|(?:super\(|code = |, )'([A-Z\d_]+)'/gm)].map(
      ([, row, ofClass]) => row ?? ofClass ?? '',
    ),
  );

  test('all have a sentence in Chinese', () => {
    expect(codes.length).toBeGreaterThan(110);
    expect(codes).toEqual(expect.arrayContaining(['LEASE_LOST', 'LOCK_MASTERS_MISSING']));
    for (const code of codes) expect.soft(errorInChinese(code), code).toMatch(/[\u4e00-\u9fff]/);
  });

  test('are raised where the first line of their stack says', () => {
    expect(labError('LAB_DOWN').stack?.split('\n')[1]).toContain('workshop.test.ts');
  });

  test.each([
    ['zh', ['race', '--language', 'zh'], undefined],
    ['zh', ['race', '--language=zh'], undefined],
    ['zh', [], 'zh_CN.UTF-8'],
    ['en', ['--language', 'en'], 'zh_CN.UTF-8'],
    ['en', [], 'de_DE'],
    ['en', [], undefined],
  ])('are in %s with %j, and LANG %j', (language, words, LANG) => {
    expect(languageOf(words, { LANG })).toBe(language);
  });
});

describe('the contract of an exercise', () => {
  const contract = { file: 'queues', rung: 'redis-commands' } as const;
  const passed = { title: 'sells', status: 'passed' };
  const failed = { title: 'loses no order', status: 'failed' };
  const told = (language: Language, seen: Seen) => {
    const { play, reasons } = seenIn(language, seen);
    return [play, seenWords(seen, workshopTexts[language].asItMust, language), ...reasons];
  };

  test('is told in the language of the reader', () => {
    const seen = seenOf(contract, [passed, failed, passed, passed]);
    expect(told('en', seen)).toEqual([
      'the contract of the queue of redis-commands',
      '3 of 4 tests passed, NOT as it must be',
      'failed: loses no order',
    ]);
    expect(told('zh', seen)).toEqual([
      'redis-commands 的队列的契约测试',
      '4 个测试通过了 3 个，不符合要求',
      '没有通过：loses no order',
    ]);
  });

  test('is not known when no test of it was run', () => {
    const seen = seenOf({ file: 'locks', rung: 'redis-atomic' }, []);
    expect(seen.answer).toBe('unknown');
    expect(told('en', seen)).toEqual([
      ...['the contract of redis-atomic', 'not known', 'no test of it was run'],
    ]);
    expect(told('zh', seen)).toEqual([
      ...['redis-atomic 的契约测试', '无法判定', '没有运行它的任何测试'],
    ]);
  });

  test('is told in English where an older version has seen it', () => {
    const { inChinese: _, ...older } = seenOf(contract, [passed]);
    expect(told('zh', older).join(' ')).toContain('1 of 1 tests passed');
  });
});
