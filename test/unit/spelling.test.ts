/** A name that is not known, and the known one that it is likely to mean. */
import { expect, test } from 'vitest';
import { labError } from '../../src/lab/errors.ts';
import { serviceError } from '../../src/service/errors.ts';
import { didYouMean } from '../../src/service/spelling.ts';

test.each([
  ['redis-atmic', ' Did you mean redis-atomic?'],
  ['redis-atomic-', ' Did you mean redis-atomic?'],
  ['rdeis-atomic', ' Did you mean redis-atomic?'],
  ['zookeeper', ''],
  ['', ''],
])('%j: %j', (name, answer) => {
  expect(didYouMean(name, ['redis-atomic', 'multilock'])).toBe(answer);
});

test('is the nearest of several', () => {
  expect(didYouMean('redis2', ['redis-1', 'redis-2'])).toBe(' Did you mean redis-2?');
});

const names = ['two-proceses', ['two-processes']] as const;
test.each([
  serviceError('UNKNOWN_RUNG', ...names),
  ...(['UNKNOWN_RACE', 'UNKNOWN_DRILL', 'UNKNOWN_SERVER'] as const).map((code) =>
    labError(code, ...names),
  ),
])('the sentence of $code has it', ({ message }) => {
  expect(message).toContain('"two-proceses". Did you mean two-processes?');
});
