/** The output of a command: one rule for exit codes, and JSON instead of text on request. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { asClaimed, print, setExitCode } from '../../src/cli/output.ts';
import type { Answer } from '../../src/lab/stage/result.ts';

let before: typeof process.exitCode;
beforeEach(() => {
  before = process.exitCode;
  process.exitCode = 7; // Of an earlier result.
});
afterEach(() => {
  process.exitCode = before;
  vi.restoreAllMocks();
});

test.each<[code: number, answers: Answer[]]>([
  [0, ['yes', 'yes']],
  [1, ['yes', 'no', 'yes']],
  [2, ['yes', 'unknown', 'yes']],
  [1, ['yes', 'unknown', 'no']],
  [2, []],
])('the exit code is %i for the answers %j', (code, answers) => {
  setExitCode(answers);
  expect(process.exitCode).toBe(code);
});

test('a claim is kept by a violation, too; an unknown verdict never keeps one', () => {
  const verdicts = ['held', 'violated', 'unknown'] as const;
  const answers = (isClaimed: boolean) =>
    asClaimed(verdicts.map((verdict) => ({ verdict, asClaimed: isClaimed })));
  expect(answers(true)).toEqual(['yes', 'yes', 'unknown']);
  expect(answers(false)).toEqual(['no', 'no', 'unknown']);
});

describe('printing', () => {
  const printed = (json: boolean, text: () => string): string => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    print(json, { orders: 3 }, text);
    return log.mock.calls.join('\n');
  };

  test('is text, or the data as JSON and nothing else', () => {
    expect(printed(false, () => 'three orders')).toBe('three orders');
    vi.restoreAllMocks();
    expect(JSON.parse(printed(true, () => expect.unreachable()))).toEqual({ orders: 3 });
  });
});
