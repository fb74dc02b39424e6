/** The last lines of a play: another command finds its report by them. */
import { expect, test } from 'vitest';
import {
  fileLine,
  reportFolderIn,
  reportLine,
  withoutFileLines,
} from '../../src/lab/report/file-words.ts';
import { placeWords } from '../../src/lab/report/step-words.ts';
import { languages } from '../../src/ladder/texts/texts.ts';

test.each(languages)('the report of a play is found, whatever else it prints (%s)', (language) => {
  const lines = [
    'a',
    fileLine('repeat', 'npx lockstep run x', language),
    reportLine('/r/x', language),
  ];
  const printed = [...lines, fileLine('replay', '/r/x/replay.html', language), 'b'].join('\n');
  expect(reportFolderIn(printed)).toBe('/r/x');
  expect(withoutFileLines(printed)).toBe('a\nb');
  expect(reportFolderIn('a\nb')).toBeUndefined();
});

test('a place is named in the language of the command, a checkpoint as in the code', () => {
  expect(placeWords('lease over', 'en')).toBe('lease over');
  expect(placeWords('lease over', 'zh')).toBe('租约到期');
  expect(placeWords('order 7', 'zh')).toBe('订单 7');
  expect(placeWords('after-check', 'zh')).toBe('after-check');
});
