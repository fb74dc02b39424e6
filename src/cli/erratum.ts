import { type ErratumName, errata, erratumNames, isErratumName } from '../lab/errata/errata.ts';
import { erratumExperiment, type PlayedErratum } from '../lab/errata/erratum-experiment.ts';
import { labError } from '../lab/errors.ts';
import { reportLine } from '../lab/report/file-words.ts';
import { wrap } from '../lab/report/wrap.ts';
import type { Language } from '../texts/texts.ts';
import { json, language } from './options.ts';
import { type AddCommand, type JsonOption, print, type WorkFolders } from './output.ts';
import { playExperiment } from './play.ts';

interface ErratumOptions extends JsonOption {
  readonly list: boolean;
  readonly language: Language;
}

export const addErratum: AddCommand = (program, folders) =>
  program
    .command('erratum')
    .description('a mistake of the course notes, shown on real servers; without a name, all')
    .argument('[name]', 'one of those that --list shows')
    .option('--list', 'list them: what the notes say', false)
    .addOption(language())
    .addOption(json())
    .action((name: string | undefined, options: ErratumOptions) =>
      options.list ? listErrata(options) : erratum(folders, name, options),
    );

function listErrata({ json, language }: ErratumOptions): void {
  const all = erratumNames.map((name) => ({ name, says: errata[name].says[language] }));
  print(json, all, () => all.map(({ name, says }) => wrap(`${name}: ${says}`)).join('\n'));
}

function erratum(
  folders: WorkFolders,
  name: string | undefined,
  { json, language }: ErratumOptions,
): Promise<void> {
  if (name !== undefined && !isErratumName(name))
    throw labError('UNKNOWN_ERRATUM', name, erratumNames);
  const names = name === undefined ? erratumNames : [name];
  return playExperiment(folders, {
    ...{ name: `erratum-${name ?? 'all'}`, experiment: erratumExperiment, options: { names } },
    command: `npx lockstep erratum${name === undefined ? '' : ` ${name}`}`,
    ...{ times: 1, database: undefined, isOnLabDatabase: true, json, isQuiet: true, language },
    report: (played) => ({
      files: {},
      data: () => played,
      text: (folder) =>
        [...played.map((each) => erratumText(each, language)), reportLine(folder, language)].join(
          '\n\n',
        ),
    }),
  });
}

const words = {
  en: { notes: 'the notes: ', truth: 'but: ', shown: 'shown', notShown: 'NOT shown' },
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
