/** The tables and sentences of the terminal: 80 columns wide, and wrapped between words. */
import { describe, expect, test } from 'vitest';
import type { Verdict } from '../../src/domain.ts';
import { allRaces, defaults } from '../../src/lab/drills/demo-plan.ts';
import type { Run, RunResult } from '../../src/lab/drills/run-rung.ts';
import type { RaceResult } from '../../src/lab/races/race-verdict.ts';
import {
  demoHead,
  headline,
  ordersHead,
  raceLine,
  racesHead,
  runLines,
} from '../../src/lab/report/demo-lines.ts';
import { ladderText } from '../../src/lab/report/ladder-tables.ts';
import { auditLines, claimSentence, verdictSentence } from '../../src/lab/report/sentences.ts';
import { headlineTable, storyHead, storyLine } from '../../src/lab/report/story-lines.ts';
import { runTable } from '../../src/lab/report/tables.ts';
import { verdictWords } from '../../src/lab/report/verdict-words.ts';
import { columns, wrap } from '../../src/lab/report/wrap.ts';
import { claimOf } from '../../src/ladder/claims.ts';
import { ladder, rungNames } from '../../src/ladder/rungs.ts';
import { story, storyNames } from '../../src/ladder/story.ts';
import { languages, texts } from '../../src/ladder/texts/texts.ts';
import { facts } from './facts.ts';

const terminal = 80;

/** The columns of a terminal: a Chinese character, and its punctuation, take two. */
const width = (line: string): number =>
  [...line].length + [...line.matchAll(/\p{Script=Han}|[\u3000-\u303f\uff00-\uff60]/gu)].length;
const tooLong = (text: string) => text.split('\n').filter((line) => width(line) > terminal);

/** A large run: a thousand users, of whom a hundred send eight requests each. */
const result = (given: Partial<RunResult> = {}): RunResult => ({
  rung: 'lua-stream',
  users: 1_000,
  stock: 100,
  seed: 1,
  workMs: 20,
  retries: 0,
  retried: 0,
  instances: 4,
  balancer: 'nginx',
  requestsPerEagerUser: 8,
  pauses: [],
  voucherId: '12',
  attempts: { accepted: 100, refused: 1_600, unknown: 0 },
  refusedBecause: {},
  refusedByMysql: { staleFence: 0, duplicate: 0 },
  orders: 100,
  stockLeft: 0,
  oversoldBy: 0,
  usersWithTwoOrders: 0,
  ordersPerSecond: 134,
  latencyMs: { p50: 975.4, p99: 3_140.9 },
  verdict: 'held',
  claim: 'held',
  asClaimed: true,
  ...given,
});

const run = (given: Partial<RunResult> = {}): Run => {
  const { rung, instances, ...rest } = result(given);
  const claim = claimOf(ladder[rung], instances);
  return {
    result: { ...rest, rung, instances, claim: claim.verdict },
    claim,
    proofs: [],
    facts: facts(),
    audit: { verdict: 'held', findings: [], skipped: [] },
  };
};

describe('the table of runs', () => {
  test('fits the terminal with every rung and the numbers of a thousand users', () => {
    const table = runTable(rungNames.map((rung) => result({ rung, balancer: 'cluster' })));
    expect(tooLong(table)).toEqual([]);
    for (const rung of rungNames) expect(table).toContain(rung);
  });

  test('fits the terminal when one rung oversells and another does not break as claimed', () => {
    const oversold = result({
      attempts: { accepted: 1_580, refused: 0, unknown: 120 },
      orders: 1_700,
      stockLeft: 82,
      oversoldBy: 1_600,
      usersWithTwoOrders: 100,
      verdict: 'violated',
      asClaimed: false,
    });
    const unbroken = result({ rung: 'check-then-insert', claim: 'violated', asClaimed: false });
    expect(tooLong(runTable([oversold, unbroken]))).toEqual([]);
  });

  test('marks whether a run was as claimed', () => {
    expect(runTable([result()])).toContain('✓');
    expect(runTable([result()])).not.toContain('✗');
    const notAsClaimed = runTable([result({ claim: 'violated', asClaimed: false })]);
    expect(notAsClaimed).toContain('✗');
    expect(notAsClaimed).not.toContain('✓');
  });

  test('shows which balancer shared the requests out', () => {
    expect(runTable([result({ balancer: 'cluster' })])).toContain('4*');
    expect(runTable([result({ balancer: 'nginx' })])).not.toContain('*');
  });

  test.each(languages)(
    'in %s has legends that fit and explain all but the plain columns',
    (language) => {
      const { legend, costLegend, runHead, costHead } = verdictWords[language];
      const plain = [...runHead.slice(0, 1), ...runHead.slice(3, 5)];
      for (const [head, words] of [
        [runHead, legend],
        [costHead, `${legend}\n${costLegend}`],
      ] as const) {
        expect(tooLong(words)).toEqual([]);
        const isExplained = (name: string) => words.split(/[\s、,]+/).includes(name);
        expect(head.filter((name) => !plain.includes(name) && !isExplained(name))).toEqual([]);
      }
    },
  );
});

describe.each(languages)('in %s, the lines of the demo', (language) => {
  test.each(rungNames)('of the rung %s fit the terminal, and have its lesson', (rung) => {
    const oversold = { orders: 1_700, usersWithTwoOrders: 100, verdict: 'violated' } as const;
    const lines = runLines(run({ rung, ...oversold, balancer: 'cluster' }), undefined, 3, language);
    const notAsClaimed = run({ rung, ...oversold, retries: 20, asClaimed: false });
    expect(tooLong(lines)).toEqual([]);
    expect(tooLong(runLines(notAsClaimed, undefined, 3, language))).toEqual([]);
    const words = texts[language].rungs[rung].lesson.split(' ');
    expect(lines.split(/\s+/).slice(-words.length)).toEqual(words);
  });

  test.each(rungNames)('explain the claim of the rung %s in lines that fit', (rung) => {
    const sentence = claimSentence(run({ rung, instances: 4, verdict: 'violated' }), language);
    expect(tooLong(wrap(sentence))).toEqual([]);
    const { breaks } = claimOf(ladder[rung], 4);
    for (const { because } of breaks) expect(sentence).toContain(texts[language].reasons[because]);
  });
});

describe('the lines of the demo', () => {
  test('print the lesson of a rung once', () => {
    const { lesson } = texts.en.rungs['lua-stream'];
    const first = run();
    expect(runLines(first, undefined, 6, 'en')).toContain(lesson);
    expect(runLines(first, run({ rung: 'redlock' }), 6, 'en')).toContain(lesson);
    expect(runLines(run({ instances: 1 }), first, 6, 'en')).not.toContain(lesson);
  });

  test('show the claim and the findings of a run that was not as claimed', () => {
    const finding = {
      check: 'no-oversell',
      verdict: 'violated',
      count: 2,
      worst: 'stock is -3',
    } as const;
    const bad = run({ verdict: 'violated', asClaimed: false });
    const audit = { verdict: 'violated', findings: [finding], skipped: [] } as const;
    const lines = runLines({ ...bad, audit }, bad, 6, 'en');
    expect(lines).toContain('✗ claim: held');
    expect(tooLong(lines)).toEqual([]);
    expect(lines).toContain('no-oversell: stock is -3');
    expect(runLines(run(), bad, 6, 'en')).not.toContain('✗');
  });

  test('of every race fit the terminal', () => {
    for (const { race, rung } of allRaces) {
      const played: RaceResult = {
        ...{ race, rung, title: '', shows: 'progress', verdict: 'unknown', claim: 'violated' },
        ...{ asClaimed: false, steps: [], evidence: 'a sentence with its evidence '.repeat(5) },
        ...{ waitsFor: 'lock', alsoBroken: [] },
      };
      expect(tooLong(raceLine(played))).toEqual([]);
    }
  });

  test.each(languages)('in %s begin with heads that fit and are explained', (language) => {
    const head = demoHead(defaults, language);
    for (const text of [head, ordersHead(language), racesHead(language)])
      expect(tooLong(text)).toEqual([]);
    const lines = head.split('\n');
    const names = (lines.at(-1) ?? '').trim().split(/\s+/);
    expect(names).toHaveLength(5);
    const explained = lines.slice(0, -1).join('\n').split(/\s+/);
    expect(explained).toEqual(expect.arrayContaining(names.slice(1, 4)));
  });

  test('has its verdicts in the language of the reader, below the heads', () => {
    const [, head = ''] = /\n([^\n]+)$/.exec(demoHead(defaults, 'zh')) ?? [];
    const [line = ''] = runLines(run(), undefined, 3, 'zh').split('\n');
    const at = (text: string, word: string) => columns(text.slice(0, text.indexOf(word)));
    expect(at(line, '成立')).toBe(at(head, '判定'));
  });

  test('end with the four runs of the story, and the number that was as claimed', () => {
    const runs = [
      result({ rung: 'mutex-per-user', instances: 1, orders: 20 }),
      result({ rung: 'mutex-per-user', instances: 4, orders: 20, usersWithTwoOrders: 9 }),
      result({ rung: 'mutex-per-user', balancer: 'cluster', usersWithTwoOrders: 77 }),
      result({ rung: 'redis-atomic', orders: 19 }),
      result({ orders: 18 }),
      result({ rung: 'redlock', orders: 17 }),
    ];
    const cells = headlineTable(runs)
      .split('\n')
      .slice(1)
      .map((line) => line.split(/ {2,}/));
    expect(cells).toEqual([
      ['a mutex, 1 process', '20', '0', 'held'],
      ['the same mutex, 4 processes', '20', '9', 'held'],
      ['a Redis lock, 4 processes', '19', '0', 'held'],
      ['Lua script + Redis Stream, 4 processes', '18', '0', 'held'],
    ]);
    const about = { folder: '/runs/one', planned: 7, language: 'en' } as const;
    const text = headline(runs, [...runs, { asClaimed: false }], about);
    expect(tooLong(text)).toEqual([]);
    expect(text).toContain('6 of 7 runs, orders and races');
    expect(text).toContain('/runs/one/index.html');
    expect(text).not.toContain('Stopped');
    const early = headline(runs, runs, { ...about, planned: 117 });
    expect(early).toContain('Stopped early: 6 of 117 were played.');
  });

  test.each(languages)('begin with the story in %s: why it ends so, or what broke', (language) => {
    expect(tooLong(storyHead(language))).toEqual([]);
    const wrong = { verdict: 'violated', claim: 'held', asClaimed: false } as const;
    for (const name of storyNames) {
      const { title, meaning } = texts[language].story[name];
      const text = storyLine(name, run(story[name]), language);
      expect(tooLong(text)).toEqual([]);
      expect(text).toContain(title);
      expect(text).toContain(meaning);
      const surprise = storyLine(name, run({ ...story[name], ...wrong }), language);
      expect(surprise).toContain('✗ the ladder claims');
      expect(surprise).not.toContain(meaning);
    }
  });
});

describe.each(languages)('the table of the ladder in %s', (language) => {
  test('fits the terminal, and has every rung with its idea', () => {
    const table = ladderText(language);
    expect(tooLong(table)).toEqual([]);
    const words = table.replaceAll(/\s+/g, ' ');
    for (const rung of rungNames) {
      expect(table.split('\n')).toContain(`  ${rung}`);
      expect(words).toContain(texts[language].rungs[rung].idea);
    }
  });

  test('says what a rung claims in this language', () => {
    const isEnglish = / (breaks|holds|under) /.test(ladderText(language));
    expect(isEnglish).toBe(language === 'en');
  });
});

describe('wrapping', () => {
  const text =
    'user 2 has 3 orders: 117164965371125761, 117164965375320064, 117164965379514368 (6 in all)';

  test.each([30, 40, 79])('keeps every word and never passes %i columns', (most) => {
    for (let words = 1; words <= text.split(' ').length; words++) {
      const sentence = text.split(' ').slice(0, words).join(' ');
      const wrapped = wrap(sentence, most, '      ');
      for (const line of wrapped.split('\n')) expect(line.length).toBeLessThanOrEqual(most);
      expect(wrapped.split(/\s+/).join(' ')).toBe(sentence);
    }
  });

  test('breaks a line only where the next word does not fit', () => {
    expect(wrap('aa bb cc', 5, '')).toBe('aa bb\ncc');
    expect(wrap('aa bb cc', 4, ' ')).toBe('aa\n bb\n cc');
  });

  test('keeps the margin of the first line, and counts it', () => {
    expect(wrap('  aa bb', 7, '    ')).toBe('  aa bb');
    expect(wrap('  aa bb', 6, '    ')).toBe('  aa\n    bb');
  });

  test('counts two columns for a Chinese character and for Chinese punctuation', () => {
    expect(columns('')).toBe(0);
    expect(columns('Redis')).toBe(5);
    expect(columns('超卖')).toBe(4);
    expect(columns('锁，Redis。')).toBe(11);
    expect(columns('✓ – … ’ ×')).toBe(9);
  });

  test('breaks Chinese text where its columns end, and not its characters', () => {
    expect(wrap('订单 库存 超卖', 9, '')).toBe('订单 库存\n超卖');
    expect(wrap('订单 库存 超卖', 8, '')).toBe('订单 库\n存 超卖');
    expect(wrap('库存不足，请重试。', 8, '')).toBe('库存不\n足，请重\n试。');
    expect(wrap('订单 stock 超卖', 10, '  ')).toBe('订单 stock\n  超卖');
    expect(wrap('订单 stock 超卖', 9, '  ')).toBe('订单\n  stock\n  超卖');
  });

  test('continues the line of a finding under the name of its check', () => {
    const finding = {
      check: 'one-order-per-user',
      verdict: 'violated',
      count: 6,
      worst: text,
    } as const;
    const lines = auditLines({ verdict: 'violated', findings: [finding], skipped: [] });
    const [first = '', second = ''] = lines.split('\n');
    expect(second.search(/\S/)).toBe(first.indexOf(finding.check));
  });

  test('a verdict says how many of the checks that could run came to it', () => {
    const of = (verdict: Verdict) => ({ check: 'progress' as const, verdict, count: 1 });
    const findings = [of('held'), of('violated'), of('held'), of('unknown')];
    const skipped = [{ check: 'no-oversell', why: '' }] as const;
    const said = (verdict: Verdict) => verdictSentence({ verdict, findings, skipped });
    expect(said('violated')).toBe('violated: 1 of the 4 checks that could run (of 5)');
    expect(said('held')).toBe('held: 2 of the 4 checks that could run (of 5)');
    const all = verdictSentence({ verdict: 'held', findings: [of('held')], skipped: [] });
    expect(all).toBe('held: 1 of the 1 checks');
    const untouched = { verdict: 'unknown' as const, findings: [of('held')], skipped };
    expect(verdictSentence(untouched)).toBe('unknown');
  });

  test('prints the reason of a skipped check', () => {
    const skipped = [{ check: 'progress', why: 'no history was kept' }] as const;
    const lines = auditLines({ verdict: 'held', findings: [], skipped });
    expect(lines).toBe('  –         progress: no history was kept');
  });
});
