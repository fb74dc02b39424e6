/** The tables and sentences of the terminal: 80 columns wide, and wrapped between words. */
import { describe, expect, test } from 'vitest';
import { allRaces, defaults } from '../../src/lab/drills/demo-plan.ts';
import type { Run, RunResult } from '../../src/lab/drills/run-rung.ts';
import type { RaceResult } from '../../src/lab/play/race-verdict.ts';
import {
  demoHead,
  headline,
  headlineTable,
  ordersHead,
  raceLine,
  racesHead,
  runLines,
  storyHead,
  storyLine,
} from '../../src/lab/report/demo-lines.ts';
import { ladderText } from '../../src/lab/report/ladder-tables.ts';
import { costTable, demoTables, runTable } from '../../src/lab/report/run-tables.ts';
import {
  auditLines,
  claimSentence,
  refusedLine,
  verdictSentence,
} from '../../src/lab/report/sentences.ts';
import { blocksText, tableText } from '../../src/lab/report/table.ts';
import { verdictWords } from '../../src/lab/report/verdict-words.ts';
import { columns, wrap } from '../../src/lab/report/wrap.ts';
import { textIn } from '../../src/lab/stage/result.ts';
import type { Audit } from '../../src/service/audit/audit.ts';
import type { Finding } from '../../src/service/audit/check.ts';
import type { Evidence } from '../../src/service/audit/sentences.ts';
import type { CheckName, Verdict } from '../../src/service/domain.ts';
import { claimOf } from '../../src/service/ladder/rung.ts';
import { ladder, rungNames } from '../../src/service/ladder/rungs.ts';
import { story, storyNames } from '../../src/service/ladder/story.ts';
import { languages, texts } from '../../src/texts/texts.ts';
import { facts } from './facts.ts';
import { tooWide } from './terminal.ts';

/** A large run: a thousand users, of whom a hundred send eight requests each. */
const result = (given: Partial<RunResult> = {}): RunResult => ({
  ...{ rung: 'lua-stream', users: 1_000, stock: 100, seed: 1, workMs: 20, voucherId: '12' },
  ...{ retries: 0, retried: 0, instances: 4, balancer: 'nginx', pauses: [] },
  ...{ requestsPerEagerUser: 8, attempts: { accepted: 100, refused: 1_600, unknown: 0 } },
  ...{ refusedBecause: {}, refusedByMysql: { staleFence: 0, duplicate: 0 } },
  ...{ orders: 100, stockLeft: 0, oversoldBy: 0, usersWithTwoOrders: 0, ordersPerSecond: 134 },
  ...{ latencyMs: { p50: 975.4, p99: 3_140.9 }, verdict: 'held', claim: 'held', asClaimed: true },
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

const finding = (check: CheckName, verdict: Verdict, worst?: Evidence): Finding => ({
  ...{ check, verdict, count: 1, ...(worst && { worst }) },
});

describe('the table of runs', () => {
  test.each(languages)('in %s fits with every rung, when all buy and one oversells', (language) => {
    const wrong = { verdict: 'violated', asClaimed: false } as const;
    const oversold = {
      ...{ attempts: { accepted: 1_580, refused: 0, unknown: 120 }, orders: 1_700 },
      ...{ stockLeft: 82, oversoldBy: 1_600, usersWithTwoOrders: 100 },
    };
    const all = rungNames.map((rung) => result({ rung, balancer: 'cluster' }));
    const text = blocksText(demoTables([...all, result({ ...wrong, ...oversold })], all), language);
    expect(tooWide(text)).toEqual([]);
    for (const rung of rungNames) expect(text).toContain(rung);
  });

  test('marks whether a run was as claimed, and which balancer shared the requests out', () => {
    const marks = (given: Partial<RunResult>) =>
      tableText({ ...runTable([result(given)]), legend: {} }).match(/4\*?(?= )|[✓✗]/g);
    expect(marks({})).toEqual(['4', '✓']);
    expect(marks({ asClaimed: false, balancer: 'cluster' })).toEqual(['4*', '✗']);
  });

  test('explains all but the plain columns', () => {
    for (const [{ head, legend = {} }, ...plain] of [
      [runTable([]), 'rung', 'sold', 'left'] as const,
      [costTable([]), 'rung', 'on', 'p99'] as const,
    ])
      expect([...plain, ...Object.keys(legend)].toSorted()).toEqual(
        head.map((name) => textIn('en', name)).toSorted(),
      );
  });
});

describe.each(languages)('in %s, the lines of the demo', (language) => {
  test.each(rungNames)('of the rung %s fit, with its lesson, and why its claim breaks', (rung) => {
    const oversold = { orders: 1_700, usersWithTwoOrders: 100, verdict: 'violated' } as const;
    const lines = runLines(run({ rung, ...oversold, balancer: 'cluster' }), undefined, 3, language);
    const notAsClaimed = run({ rung, ...oversold, retries: 20, asClaimed: false });
    const sentence = claimSentence(run({ rung, instances: 4, verdict: 'violated' }), language);
    for (const text of [lines, runLines(notAsClaimed, undefined, 3, language), wrap(sentence)])
      expect(tooWide(text)).toEqual([]);
    const words = texts[language].rungs[rung].lesson.split(' ');
    expect(lines.split(/\s+/).slice(-words.length)).toEqual(words);
    const { breaks } = claimOf(ladder[rung], 4);
    for (const { because } of breaks) expect(sentence).toContain(texts[language].reasons[because]);
  });

  test('begin with heads that fit, are explained, and stand above the verdicts', () => {
    const text = demoHead(defaults, language);
    for (const head of [text, ordersHead(language), racesHead(language)])
      expect(tooWide(head)).toEqual([]);
    const lines = text.split('\n');
    const head = lines.pop() ?? '';
    const [, on, sold, twice, verdict = ''] = head.trim().split(/\s+/);
    expect(lines.join('\n').split(/\s+/)).toEqual(expect.arrayContaining([on, sold, twice]));
    const [line = ''] = runLines(run(), undefined, 3, language).split('\n');
    const at = (line: string, word: string) => columns(line.slice(0, line.indexOf(word)));
    const { held } = verdictWords[language].verdicts;
    expect(at(line, held)).toBe(at(head, verdict));
  });

  test('begin with the story: why it ends so, or what broke', () => {
    expect(tooWide(storyHead(language))).toEqual([]);
    const wrong = { verdict: 'violated', asClaimed: false } as const;
    for (const name of storyNames) {
      const { title, meaning } = texts[language].story[name];
      const text = storyLine(name, run(story[name]), language);
      expect(tooWide(text)).toEqual([]);
      expect(text).toContain(title);
      expect(text).toContain(meaning);
      const surprise = storyLine(name, run({ ...story[name], ...wrong }), language);
      expect(surprise).toContain(verdictWords[language].notClaimed('held').slice(0, 4));
      expect(surprise).not.toContain(meaning);
    }
  });

  test('of the table of the ladder fit, and have the idea and the claim of every rung', () => {
    const table = ladderText(language);
    expect(tooWide(table)).toEqual([]);
    const words = table.replaceAll(/\s+/g, ' ');
    for (const rung of rungNames) {
      expect(table.split('\n')).toContain(`  ${rung}`);
      expect(words).toContain(texts[language].rungs[rung].idea);
    }
    expect(/ (breaks|holds|under) /.test(table)).toBe(language === 'en');
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
    const bad = run({ verdict: 'violated', asClaimed: false });
    const audit = {
      ...bad.audit,
      findings: [finding('no-oversell', 'violated', ['stock-below-zero', -3])],
    };
    const lines = runLines({ ...bad, audit }, bad, 6, 'en');
    expect(lines).toContain('✗ claim: held');
    expect(lines).toContain('no-oversell: stock is -3');
    expect(runLines(run(), bad, 6, 'en')).not.toContain('✗');
  });

  test('of every race fit the terminal', () => {
    for (const { race, rung } of allRaces) {
      const played: RaceResult = {
        ...{ race, rung, title: '', shows: 'progress', verdict: 'unknown', claim: 'violated' },
        ...{ asClaimed: false, steps: [], evidence: 'a sentence with its evidence '.repeat(5) },
        alsoBroken: [],
      };
      expect(tooWide(raceLine(played))).toEqual([]);
    }
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
    const [, ...rows] = tableText(headlineTable(runs)).split('\n');
    expect(rows.map((line) => line.split(/ {2,}/))).toEqual([
      ['a mutex, 1 process', '20', '0', 'held'],
      ['the same mutex, 4 processes', '20', '9', 'held'],
      ['a Redis lock, 4 processes', '19', '0', 'held'],
      ['Lua script + Redis Stream, 4 processes', '18', '0', 'held'],
    ]);
    const about = { folder: '/runs/one', planned: 7, language: 'en' } as const;
    const text = headline(runs, [...runs, { asClaimed: false }], about);
    expect(tooWide(text)).toEqual([]);
    expect(text).toMatch(/^6 of 7 runs, interleavings and races.*\n *\/runs\/one\/index.html$/m);
    const early = headline(runs, runs, { ...about, planned: 117 });
    expect(early).toMatch(/^Stopped early: 6 of 117 were played\. /m);
  });
});

describe('wrapping', () => {
  const text =
    'user 2 has 3 orders: 117164965371125761, 117164965375320064, 117164965379514368 (6 in all)';

  test.each([30, 40, 79])('keeps every word and never passes %i columns', (most) => {
    const words = text.split(' ');
    for (const index of words.keys()) {
      const sentence = words.slice(0, index + 1).join(' ');
      const wrapped = wrap(sentence, most, '      ');
      for (const line of wrapped.split('\n')) expect(line.length).toBeLessThanOrEqual(most);
      expect(wrapped.split(/\s+/).join(' ')).toBe(sentence);
    }
  });

  test.each<[text: string, width: number, indent: string, wrapped: string]>([
    ['aa bb cc', 5, '', 'aa bb\ncc'],
    ['aa bb cc', 4, ' ', 'aa\n bb\n cc'],
    // The margin of the first line counts.
    ['  aa bb', 7, '    ', '  aa bb'],
    ['  aa bb', 6, '    ', '  aa\n    bb'],
    // A Chinese character takes two columns, and no line begins with its punctuation.
    ['订单 库存 超卖', 9, '', '订单 库存\n超卖'],
    ['订单 库存 超卖', 8, '', '订单 库\n存 超卖'],
    ['库存不足，请重试。', 8, '', '库存不\n足，请重\n试。'],
    ['订单 stock 超卖', 10, '  ', '订单 stock\n  超卖'],
    ['订单 stock 超卖', 9, '  ', '订单\n  stock\n  超卖'],
  ])('breaks %j at %i columns where the next word does not fit', (text, width, indent, wrapped) => {
    expect(wrap(text, width, indent)).toBe(wrapped);
  });

  test.each([
    ['', 0],
    ['锁，Redis。', 11],
    ['✓ – … ’ ×', 9],
  ])('counts the columns of %j: %i', (text, count) => {
    expect(columns(text)).toBe(count);
  });
});

describe('the lines of an audit', () => {
  test('continue a finding under the name of its check', () => {
    const worst = ['order-without-unit', 'an order '.repeat(9)] as const;
    const findings = [finding('one-order-per-user', 'violated', worst)];
    const lines = auditLines({ verdict: 'violated', findings, skipped: [] });
    const [first = '', second = ''] = lines.split('\n');
    expect(second.search(/\S/)).toBe(first.indexOf('one-order-per-user'));
  });

  test('say of a skipped check why', () => {
    const skipped = [{ check: 'progress', why: ['no-history'] }] as const;
    const lines = auditLines({ verdict: 'held', findings: [], skipped });
    expect(lines).toBe('  –         progress: no history was kept');
  });

  test('say how many of the checks that could run came to the verdict', () => {
    const findings = (['held', 'violated', 'held', 'unknown'] as const).map((verdict) =>
      finding('progress', verdict),
    );
    const skipped = [{ check: 'no-oversell', why: ['no-history'] }] as const;
    const said = (verdict: Verdict, given: Partial<Audit> = {}) =>
      verdictSentence({ verdict, findings, skipped, ...given });
    expect(said('violated')).toBe('violated: 1 of the 4 checks that could run (of 5)');
    const [held = expect.unreachable()] = findings;
    expect(said('held', { findings: [held], skipped: [] })).toBe('held: 1 of the 1 checks');
    expect(said('unknown', { findings: [held] })).toBe('unknown');
  });
});

test('a run names the reasons of its refusals, the most frequent first', () => {
  const refused = run({ refusedBecause: { busy: 8, 'sold-out': 60, 'already-bought': 52 } });
  expect(refusedLine(refused)).toBe('refused: sold-out 60, already-bought 52, busy 8');
  expect(refusedLine(run(), 'zh')).toBe('被拒绝：无');
});
