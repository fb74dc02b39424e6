/** The words of the steps of a race: true on every rung, and in both languages. */
import { describe, expect, test } from 'vitest';
import { shortRaces } from '../../src/lab/drills/demo-plan.ts';
import { placeWords } from '../../src/lab/play/place-words.ts';
import type { RaceResult } from '../../src/lab/play/race-verdict.ts';
import { type Schedule, schedules } from '../../src/lab/play/schedules.ts';
import { raceText, stepWords, textWidth } from '../../src/lab/report/race-text.ts';
import { columns } from '../../src/lab/report/wrap.ts';
import type { ReachedPlace, StepEffect } from '../../src/lab/stage/place.ts';
import type { StepPlace } from '../../src/texts/en.ts';
import { languages, texts } from '../../src/texts/texts.ts';
import { bought, missed, standsAt, told } from './facts.ts';
import { files, textOf } from './source-graph.ts';

const all: readonly Schedule[] = Object.values(schedules);

test('a title and a step have Chinese', () => {
  const told = all.flatMap(({ title, steps }) => [title, ...steps.map(({ says }) => says)]);
  for (const { en, zh } of told) expect.soft(zh, en).toMatch(/[\u4e00-\u9fff]/);
});

test('a place is named in the language of the command, a checkpoint as in the code', () => {
  const done = (as: StepEffect): ReachedPlace => ({ is: 'done', as });
  expect(placeWords(done('lease-over'), 'en')).toBe('lease over');
  expect(placeWords(done('lease-over'), 'zh')).toBe('租约到期');
  expect(placeWords(bought('7'), 'en')).toBe('order 7');
  expect(placeWords(bought('7'), 'zh')).toBe('订单 7');
  expect(placeWords(standsAt('after-check'), 'zh')).toBe('after-check');
  expect(placeWords(told('socket hang up'), 'zh')).toBe('socket hang up');
  expect(placeWords(missed('not-there'), 'en')).toBe('not there');
  for (const on of ['lock', 'row'] as const)
    expect(placeWords({ is: 'waits', on }, 'en')).toBe('waits');
});

test('a sentence of a step is that of a place in the code', () => {
  const code = files
    .filter((file) => !file.startsWith('texts/'))
    .map(textOf)
    .join('');
  const isSaid = (place: string) => new RegExp(`'${place}'|^ +${place}:`, 'm').test(code);
  expect(Object.keys(texts.en.steps).filter((place) => !isSaid(place))).toEqual([]);
});

test.each(languages)('every step fits its place, in %s', (language) => {
  const own = all.flatMap(({ steps }) => steps.map(({ says }) => says[language]));
  for (const text of [...Object.values(texts[language].steps), ...own])
    expect(columns(text), text).toBeLessThanOrEqual(textWidth);
});

describe.each(languages)('in %s', (language) => {
  const show = ({ race, rung }: Pick<RaceResult, 'race' | 'rung'>, verdict: 'held' | 'violated') =>
    ({ race, rung, verdict }) as const;
  const says = { en: 'x', zh: '甲' };
  const step = { lane: 'A', says, isWrong: false, asPlanned: true, place: bought('1') };

  test('the rung with the bug has the words of its schedule where it shows the bug', () => {
    const bug = { race: 'lost-update', rung: 'read-then-write' } as const;
    expect(stepWords(step, show(bug, 'violated'), language)).toBe(says[language]);
    expect(stepWords(step, show(bug, 'held'), language)).toBe(texts[language].steps.sold);
  });

  test.each<[ReachedPlace, StepPlace]>([
    [told('socket hang up'), 'no-answer'],
    [told('answer-lost'), 'answer-lost'],
    [{ is: 'waits', on: 'lock' }, 'waits-for-lock'],
    [{ is: 'waits', on: 'row' }, 'waits-for-store'],
    [{ is: 'dead' }, 'killed'],
  ])('the words of %j are those of %s', (place, name) => {
    const on = { race: 'lost-update', rung: 'version-check' } as const;
    const words = stepWords({ ...step, place }, show(on, 'held'), language);
    expect(words).toBe(texts[language].steps[name]);
  });

  const places: readonly ReachedPlace[] = [
    ...[bought('1'), told('already-ordered'), told('socket hang up')],
    ...[{ is: 'waits', on: 'lock' } as const, { is: 'dead' } as const],
  ];

  test('every other rung has words of the place where the lane is, never those of the bug', () => {
    for (const { race, rung } of shortRaces.filter(
      (each) => schedules[each.race].rung !== each.rung,
    ))
      for (const { says } of schedules[race].steps)
        for (const place of places) {
          const played = { ...step, says, place };
          const words = stepWords(played, show({ race, rung }, 'held'), language);
          expect(Object.values(texts[language].steps)).toContain(words);
        }
  });

  test('the last line is the lesson of the rung', () => {
    const played: RaceResult = {
      ...{ race: 'lost-update', rung: 'version-check', title: '', shows: 'no-oversell' },
      ...{ verdict: 'held', claim: 'held', asClaimed: true, steps: [step], evidence: '' },
      alsoBroken: [],
    };
    const lesson = texts[language].rungs['version-check'].lesson.slice(0, 20);
    expect(raceText(played, language).split('\n\n').at(-1)).toContain(lesson);
  });
});
