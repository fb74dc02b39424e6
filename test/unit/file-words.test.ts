/** The last lines of a play: another command finds its report by them. */
import { expect, test } from 'vitest';
import {
  fileLine,
  reportFolderIn,
  reportLine,
  withoutFileLines,
} from '../../src/lab/report/file-words.ts';
import { languages } from '../../src/texts/texts.ts';

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

test.each(languages)('what is too long for a line has one of its own, in %s', (language) => {
  const folder = `/r/${'x'.repeat(70)}`;
  const printed = `a\n${reportLine(folder, language)}\nb`;
  expect(printed.split('\n')).toContain(`  ${folder}/index.html`);
  expect(reportFolderIn(printed)).toBe(folder);
  expect(withoutFileLines(printed)).toBe('a\nb');
});
