/** The words of the steps of a race: true on every rung, and in both languages. */
import { describe, expect, test } from 'vitest';
import { shortRaces } from '../../src/lab/drills/demo-plan.ts';
import * as verdict from '../../src/lab/play/race-verdict.ts';
import { type RaceResult, waits } from '../../src/lab/play/race-verdict.ts';
import { type Schedule, schedules } from '../../src/lab/play/schedules.ts';
import { raceText, textWidth } from '../../src/lab/report/race-text.ts';
import { placeWords, stepWords } from '../../src/lab/report/step-words.ts';
import { columns } from '../../src/lab/report/wrap.ts';
import { languages, texts } from '../../src/texts/texts.ts';

const all: readonly Schedule[] = Object.values(schedules);

test('a title and a step have Chinese', () => {
  const told = all.flatMap(({ title, steps }) => [title, ...steps.map(({ says }) => says)]);
  for (const { en, zh } of told) expect.soft(zh, en).toMatch(/[\u4e00-\u9fff]/);
});

test('a place is named in the language of the command, a checkpoint as in the code', () => {
  const lock = { waitsFor: 'lock' } as const;
  const inChineseAt = (at: string) => placeWords({ at }, lock, 'zh');
  expect(placeWords({ at: 'lease over' }, lock, 'en')).toBe('lease over');
  expect(inChineseAt('lease over')).toBe('租约到期');
  expect(inChineseAt('order 7')).toBe('订单 7');
  expect(inChineseAt('after-check')).toBe('after-check');
  const named = Object.values(verdict).filter((each) => typeof each === 'string');
  expect(named.length).toBeGreaterThan(10);
  for (const at of [...named, 'injected', 'healed'])
    expect.soft(inChineseAt(at), at).toMatch(/^[\u4e00-\u9fff]+$/);
});

test.each(languages)('every step fits its place, in %s', (language) => {
  const own = all.flatMap(({ steps }) => steps.map(({ says }) => says[language]));
  for (const text of [...Object.values(texts[language].steps), ...own])
    expect(columns(text), text).toBeLessThanOrEqual(textWidth);
});

describe.each(languages)('in %s', (language) => {
  const show = ({ race, rung }: Pick<RaceResult, 'race' | 'rung'>, verdict: 'held' | 'violated') =>
    ({ race, rung, verdict, waitsFor: 'lock' }) as const;
  const step = { lane: 'A', text: 'x', wrong: false, asPlanned: true, at: 'order 1' };

  test('the rung with the bug has the words of its schedule where it shows the bug', () => {
    const bug = { race: 'lost-update', rung: 'read-then-write' } as const;
    expect(stepWords(step, show(bug, 'violated'), language)).toBe('x'); // Of an older file.
    const told = { ...step, textZh: '甲' };
    const own = { en: 'x', zh: '甲' }[language];
    expect(stepWords(told, show(bug, 'violated'), language)).toBe(own);
    expect(stepWords(step, show(bug, 'held'), language)).toBe(texts[language].steps.sold);
  });

  test('every other rung has words of the place where the lane is, never those of the bug', () => {
    for (const { race, rung } of shortRaces.filter(
      (each) => schedules[each.race].rung !== each.rung,
    ))
      for (const { says } of schedules[race].steps)
        for (const at of ['order 1', waits, 'already-ordered', 'killed', 'socket hang up']) {
          const words = stepWords(
            { ...step, text: says.en, textZh: says.zh, at },
            show({ race, rung }, 'held'),
            language,
          );
          expect(Object.values(texts[language].steps)).toContain(words);
        }
  });

  test('the last line is the lesson of the rung', () => {
    const played: RaceResult = {
      ...{ race: 'lost-update', rung: 'version-check', title: '', shows: 'no-oversell' },
      ...{ verdict: 'held', claim: 'held', asClaimed: true, steps: [step], evidence: '' },
      ...{ waitsFor: 'store', alsoBroken: [] },
    };
    const lesson = texts[language].rungs['version-check'].lesson.slice(0, 20);
    expect(raceText(played, language).split('\n\n').at(-1)).toContain(lesson);
  });
});
