import { json, language, list } from '../lab/commands/options.ts';
import { commandRow, commandText, named } from '../lab/commands/row.ts';
import {
  type ErratumName,
  errata,
  erratumExperiment,
  erratumNames,
  isErratumName,
  type PlayedErratum,
} from '../lab/errata/errata.ts';
import { labError } from '../lab/errors.ts';
import { reportLine } from '../lab/report/file-words.ts';
import { wrap } from '../lab/report/wrap.ts';
import type { Language } from '../texts/texts.ts';
import { command } from './command.ts';
import { printNamed } from './output.ts';
import { playExperiment } from './play.ts';

const erratumRow = commandRow({
  name: 'erratum',
  about: {
    en: 'a sentence of the course notes, tried on real servers; without a name, all',
    zh: '课程笔记里的一句话，在真实服务器上验证；不写名字就是全部',
  },
  arguments: {
    name: {
      schema: named(isErratumName, (name) =>
        labError('UNKNOWN_ERRATUM', name, erratumNames),
      ).optional(),
      en: 'a name from --list',
      zh: '--list 列出的名字',
    },
  },
  options: { list, language, json },
});

export const addErratum = command(erratumRow, (folders, given) => {
  const { name, list, json, language } = given;
  if (list) return printNamed(json, erratumNames, 'says', (each) => errata[each].says[language]);
  const names = name === undefined ? erratumNames : [name];
  const text = (played: readonly PlayedErratum[], folder: string) => [
    ...played.map((each) => erratumText(each, language)),
    reportLine(folder, language),
  ];
  return playExperiment(folders, given, {
    name: `erratum-${name ?? 'all'}`,
    experiment: erratumExperiment,
    options: { names },
    command: commandText(erratumRow, { name }),
    isOnLabDatabase: true,
    isQuiet: true,
    report: (played) => ({
      files: {},
      data: () => played,
      text: (folder) => text(played, folder).join('\n\n'),
    }),
  });
});

const words = {
  en: { notes: 'the notes: ', truth: 'in fact: ', shown: 'shown', notShown: 'NOT shown' },
  zh: { notes: '笔记：', truth: '实际：', shown: '已演示', notShown: '没有出现' },
} as const;

function erratumText({ name, lines, isShown }: PlayedErratum, language: Language): string {
  const say = words[language];
  const { says, truth }: (typeof errata)[ErratumName] = errata[name];
  return [
    `${name}: ${isShown ? say.shown : say.notShown}`,
    wrap(`  ${say.notes}${says[language]}`, 79, '    '),
    ...lines.map((line) => wrap(`    ${line[language]}`, 79, '      ')),
    wrap(`  ${say.truth}${truth[language]}`, 79, '    '),
  ].join('\n');
}
