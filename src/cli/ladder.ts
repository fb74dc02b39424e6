import { ladderRows, ladderText } from '../lab/report/ladder-tables.ts';
import type { Language } from '../texts/texts.ts';
import { json, language } from './options.ts';
import { type AddCommand, type JsonOption, print } from './output.ts';

export const addLadder: AddCommand = (program) =>
  program
    .command('ladder')
    .description('show every rung: what it does, and what it claims')
    .addOption(language())
    .addOption(json())
    .action(({ json, language }: JsonOption & { language: Language }) =>
      print(json, ladderRows(language), () => ladderText(language)),
    );
