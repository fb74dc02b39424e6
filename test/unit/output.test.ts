/** The output of a command: one rule for exit codes, and JSON instead of text on request. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Answer, asClaimed, print, setExitCode } from '../../src/cli/output.ts';
import type { Verdict } from '../../src/domain.ts';

let before: typeof process.exitCode;
beforeEach(() => {
  before = process.exitCode;
  process.exitCode = undefined;
});
afterEach(() => {
  process.exitCode = before;
  vi.restoreAllMocks();
});

const codeOf = (answers: readonly Answer[]) => {
  setExitCode(answers);
  return process.exitCode;
};
const codeOfResults = (...results: { verdict: Verdict; asClaimed: boolean }[]) =>
  codeOf(asClaimed(results));

describe('the exit code', () => {
  test.each<[code: number, answers: Answer[]]>([
    [0, ['yes']],
    [0, ['yes', 'yes']],
    [1, ['no']],
    [1, ['yes', 'no', 'yes']],
    [2, ['unknown']],
    [2, ['yes', 'unknown', 'yes']],
    [2, []],
  ])('is %i for the answers %j', (code, answers) => {
    expect(codeOf(answers)).toBe(code);
  });

  test.each<Answer[]>([
    ['no', 'unknown'],
    ['unknown', 'no'],
    ['yes', 'unknown', 'no'],
  ])('is 1 when one answer is no, also beside an unknown one', (...answers) => {
    expect(codeOf(answers)).toBe(1);
  });

  test('is that of the last result, and 0 does not stay from an earlier one', () => {
    expect(codeOf(['yes'])).toBe(0);
    expect(codeOf(['no'])).toBe(1);
    expect(codeOf(['yes'])).toBe(0);
  });

  const held = { verdict: 'held', asClaimed: true } as const;
  const violated = { verdict: 'violated', asClaimed: true } as const;

  test('is 0 when every run is as claimed, also where the claim is a violation', () => {
    expect(codeOfResults(held, violated)).toBe(0);
  });

  test('is 1 when a run held or broke against its claim', () => {
    expect(codeOfResults(held, { ...held, asClaimed: false })).toBe(1);
    expect(codeOfResults({ ...violated, asClaimed: false }, held)).toBe(1);
  });

  test('is 2 when a verdict is unknown, whatever the claim was', () => {
    expect(codeOfResults(held, { verdict: 'unknown', asClaimed: false })).toBe(2);
    expect(codeOfResults(held, { verdict: 'unknown', asClaimed: true })).toBe(2);
  });

  test('is 1 when one run is unknown and another is not as claimed', () => {
    const unknown = { verdict: 'unknown', asClaimed: false } as const;
    expect(codeOfResults(unknown, { ...held, asClaimed: false })).toBe(1);
  });

  test('is 2 when nothing was run', () => {
    expect(codeOfResults()).toBe(2);
  });
});

describe('printing', () => {
  const printed = (json: boolean): string => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    print(json, { orders: 3 }, () => 'three orders');
    expect(log).toHaveBeenCalledTimes(1);
    return String(log.mock.calls[0]?.[0]);
  };

  test('is text, or the data as JSON and nothing else', () => {
    expect(printed(false)).toBe('three orders');
    vi.restoreAllMocks();
    expect(JSON.parse(printed(true))).toEqual({ orders: 3 });
  });

  test('does not make the text for JSON', () => {
    vi.spyOn(console, 'log').mockImplementation(() => {});
    const text = vi.fn(() => '');
    print(true, {}, text);
    expect(text).not.toHaveBeenCalled();
  });
});
