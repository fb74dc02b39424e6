/** The mutants: each can be made. Those of the final rung: what a trial found is told. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Change, changedText, fileOfChange } from '../../src/lab/mutants/change.ts';
import { judgeMutants, type MutantResult } from '../../src/lab/mutants/judge-mutants.ts';
import { type Mutant, mutants } from '../../src/lab/mutants/mutants.ts';
import { judgeTrial } from '../../src/lab/mutants/run-trial.ts';
import { type TrialName, trials } from '../../src/lab/mutants/trials.ts';
import { resultText } from '../../src/lab/report/result-text.ts';
import { textIn } from '../../src/lab/stage/result.ts';
import { ladder } from '../../src/service/ladder/rungs.ts';
import type { Language } from '../../src/texts/texts.ts';
import { lockMutants } from '../mutants/lock-mutants.ts';
import { facts, row } from './facts.ts';

const all: [string, Mutant][] = Object.entries(mutants);
const ofCode = all.flatMap(([name, mutant]) => ('file' in mutant ? [[name, mutant] as const] : []));
const read = (change: Change): string =>
  readFileSync(new URL(`../../${fileOfChange(change, 'src')}`, import.meta.url), 'utf8');

const ofLocks = lockMutants.map((mutant) => [mutant.name, mutant] as const);

test.each<readonly [string, Change]>([...ofCode, ...ofLocks])(
  '%s: one place of the source has its text',
  (name, change) => {
    expect(changedText(name, read(change), change)).not.toBe(read(change));
  },
);

test('the run in docs/proof.md has a row for each, with its defence, fault and check', () => {
  const docs = readFileSync(new URL('../../docs/proof.md', import.meta.url), 'utf8');
  const rows = docs.match(/^\| `.*$/gm)?.map((line) => line.split(' | ').slice(0, 4).join(' | '));
  const wanted = all.map(
    ([name, { defence, trial, turnsRed }]) =>
      `| \`${name}\` | ${defence.en} | ${trials[trial as TrialName].fault.en} | ${turnsRed}`,
  );
  expect(rows, 'npx lockstep mutants && npx lockstep docs').toEqual(wanted);
});

test('a text that is missing, or there twice, is refused; its line breaks are free', () => {
  const change = { file: 'lua/x.lua', find: 'a  b', replace: 'c' };
  expect(changedText('m', '1 a\n  b 2', change)).toBe('1 c 2');
  expect(() => changedText('m', '1 2', change)).toThrow('lua/x.lua has this text 0 times');
  expect(() => changedText('m', 'a b a b', change)).toThrow('lua/x.lua has this text 2 times');
});

test('there are at least twelve, each changes one thing, and each trial has its mutant', () => {
  expect(all.length).toBeGreaterThanOrEqual(12);
  for (const [, mutant] of all) expect('file' in mutant && 'redis' in mutant).toBe(false);
  expect(new Set(all.map(([, { trial }]) => trial))).toEqual(new Set(Object.keys(trials)));
  expect(ladder['lua-stream'].breaks).toEqual([]);
});

test('a trial is judged by every check, but for what its fault breaks on every rung', () => {
  const lost = facts({ orders: [row('a', '1')], stock: 2 });
  const checks = (breaks: object) =>
    judgeTrial(lost, true, { breaks })
      .filter(({ verdict }) => verdict === 'violated')
      .map(({ check }) => check);
  expect(checks({})).toEqual(['no-lost-orders', 'redis-matches-mysql']);
  expect(checks({ 'redis-matches-mysql': 'why' })).toEqual(['no-lost-orders']);
  expect(judgeTrial(facts({}), true, {}).map(({ verdict }) => verdict)).not.toContain('violated');
  expect(judgeTrial(facts({}), false, {})).toContainEqual(
    expect.objectContaining({ check: 'orders-settle', verdict: 'violated' }),
  );
});

const result: MutantResult = {
  ...{ mutant: 'no-claim-loop', fate: 'red', violated: ['orders-settle'] },
  ...{ evidence: { en: 'still queued: order 5', zh: '还在排队：订单 5' }, seconds: 24.25 },
  real: { verdict: 'held', seconds: 3, evidence: { en: '', zh: '' } },
};

const textOf = (results: readonly MutantResult[], language: Language = 'en'): string =>
  resultText({ ...judgeMutants(results), faults: {} }, language).replaceAll(/\n +/g, ' ');

test('the table names each check that went red, and below it what was not as expected', () => {
  const text = textOf([result]);
  expect(text).toMatch(/^no-claim-loop orders-settle +24\.3 +held +3\.0$/m);
  expect(judgeMutants([result])).toMatchObject({ verdict: 'held', reasons: [] });
  for (const { head, legend = {} } of judgeMutants([result]).tables ?? []) {
    expect(Object.keys(legend)).toContain('real rung');
    const heads = head.map((each) => textIn('en', each));
    expect(heads).toEqual(expect.arrayContaining(Object.keys(legend)));
  }
  const survived = textOf([{ ...result, fate: 'survived', violated: ['no-oversell'] }]);
  expect(survived).toContain('no-claim-loop survived, so this is not tested: idle orders are');
  expect(survived).toContain('verdict: violated');
  const lines = resultText({ ...judgeMutants([result]), faults: {} }).split('\n');
  expect(lines.filter((line) => [...line].length > 80)).toEqual([]);
  const unknown = { ...result, fate: 'unknown' } as const;
  expect(judgeMutants([unknown])).toMatchObject({ verdict: 'unknown', figures: { unknown: 1 } });
  const evidence = { en: 'no-oversell: 2 of 1', zh: 'no-oversell：卖了 2，只有 1' };
  const broken = { ...result.real, verdict: 'violated', evidence } as const;
  expect(textOf([{ ...result, real: broken }])).toContain(
    'the real rung, under the fault of no-claim-loop: violated. no-oversell: 2 of 1',
  );
  expect(textOf([{ ...result, real: broken }], 'zh')).toContain('no-oversell：卖了 2，只有 1');
});
