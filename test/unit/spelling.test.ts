/** A name that is not known, and the known one that it is likely to mean. */
import { expect, test } from 'vitest';
import { UnknownDrill, UnknownRace, UnknownServer } from '../../src/lab/errors.ts';
import { UnknownRung } from '../../src/service/errors.ts';
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

test.each([UnknownRung, UnknownRace, UnknownDrill, UnknownServer])(
  'the sentence of %o has it',
  (Unknown) => {
    const { message } = new Unknown('two-proceses', ['two-processes']);
    expect(message).toContain('"two-proceses". Did you mean two-processes?');
  },
);
