/** The writes that MySQL refused, counted from the history. */
import { expect, test } from 'vitest';
import { mysqlRefusals, refusalEvidence } from '../../src/service/audit/sections.ts';
import { inEnglish } from '../../src/service/audit/sentences.ts';
import { history } from './facts.ts';

test('a duplicate of the unique key is counted, and an order that was found before the write is not', () => {
  const events = history(
    ...['1 A 7 accepted', '2 B 7 duplicate', '3 B 7 refused already-ordered'],
    ...['4 C 7 refused already-ordered', '5 D 8 refused stale-fence', '6 E 8 refused lease-lost'],
  );
  const counted = mysqlRefusals({ history: events });
  expect(counted).toEqual({ staleFence: 1, duplicate: 1 });
  expect(refusalEvidence(counted).map(inEnglish)).toEqual([
    'writes that MySQL refused: 1 by the fence, 1 by the unique key',
  ]);
});

test('nothing is said when MySQL refused nothing, or no history was kept', () => {
  expect(refusalEvidence(mysqlRefusals({ history: history('1 A 7 accepted') }))).toEqual([]);
  expect(refusalEvidence(mysqlRefusals({}))).toEqual([]);
});
