/** What is chosen before a sale is broken: what can be played, its name, and its address. */
import { describe, expect, test } from 'vitest';
import {
  type BreakChoice,
  breakName,
  drillOnName,
  rungsOfBreak,
  whyNot,
} from '../../src/lab/by-hand/break-choice.ts';
import '../support/built-rows.ts';

const { addressOf, viewAt } = await import('../../src/page/client/route.tsx');

const choice: BreakChoice = { rung: 'redlock', arrivals: 'steady', perSecond: 100, minutes: 60 };
const both: BreakChoice = { ...choice, beside: 'lua-stream' };

test.each<[ReturnType<typeof whyNot>, BreakChoice]>([
  [null, choice],
  [null, both],
  [null, { ...both, arrivals: 'rush' }],
  ['notBeside', { ...both, beside: 'redlock' }],
  ['notBeside', { ...both, arrivals: 'k6' }],
  [null, { ...choice, arrivals: 'k6', perSecond: 200 }],
  ['k6TooFast', { ...choice, arrivals: 'k6', perSecond: 201 }],
  [null, { ...choice, arrivals: 'rush', perSecond: 5_000 }],
])('%s: %j', (because, wanted) => {
  expect(whyNot(wanted)).toBe(because);
});

test('the name of the experiment has its rungs', () => {
  expect(rungsOfBreak(breakName(choice))).toEqual(['redlock']);
  expect(rungsOfBreak(breakName(both))).toEqual(['redlock', 'lua-stream']);
  expect(drillOnName(both)).toBe('drill-on-redlock-beside-lua-stream');
  expect(rungsOfBreak(drillOnName(both))).toEqual(['redlock', 'lua-stream']);
});

describe('the address of the page', () => {
  const at = (address: string) => {
    const { pathname, search } = new URL(address, 'http://localhost');
    return viewAt({ pathname, search });
  };

  test.each([choice, both, { ...choice, arrivals: 'k6' }, { ...both, arrivals: 'rush' }] as const)(
    'has the choice: %j',
    (wanted) => {
      const view = { is: 'run', of: 'break', ...wanted } as const;
      expect(at(addressOf(view))).toEqual(view);
    },
  );

  test('is that of nothing where no view is, and never another view', () => {
    for (const path of ['/nowhere', '/ladder/7', '/race/nothing', '/run/drill/nothing'])
      expect(at(path)).toEqual({ is: 'nowhere', path });
    for (const path of ['/', '/ladder', '/ladder/2'])
      expect(at(path)).toEqual({ is: 'ladder', chapter: 2 });
  });

  test('leaves out what does not exist, or cannot be', () => {
    expect(at('/break?rung=nothing&beside=nothing&arrivals=nothing&load=-5')).toMatchObject({
      ...{ rung: 'redlock', arrivals: 'steady', perSecond: 1 },
    });
    expect(at('/break?rung=fenced&beside=fenced')).not.toHaveProperty('beside', 'fenced');
    expect(at('/break?rung=fenced&beside=redlock&arrivals=k6')).not.toHaveProperty(
      ...(['beside', 'redlock'] as const),
    );
  });
});
