/** What `--help` says beside the rows, in each language, and how it is laid out in Chinese. */
import type { Argument, HelpConfiguration, Option } from 'commander';
import { columns, wrap } from '../lab/report/wrap.ts';
import type { Language } from '../texts/texts.ts';
import { exitCodes } from './output.ts';

const en = {
  about:
    'A flash sale, and the lab that shows which protections work, which break, and what each costs.',
  version: 'print the version of this checkout',
  help: 'display help for command',
  tryHelp: '(try --help)',
  after: `
${exitCodes}
Start with: npx lockstep ladder; npx lockstep run mutex-per-user --instances 4`,
  groups: { learn: 'Learn:', break: 'Break:', measure: 'Measure:', operate: 'Operate:' },
  layout: { minWidthToWrap: 30 } as HelpConfiguration, // On 80 columns too.
};
type HelpWords = typeof en;

const titles: Readonly<Record<string, string>> = {
  'Usage:': '用法：',
  'Arguments:': '参数：',
  'Options:': '选项：',
  'Commands:': '命令：',
};

const zh: HelpWords = {
  about: '秒杀，以及一个实验环境：哪些保护有用，哪些会失效，各自的代价是多少。',
  version: '打印这份代码的版本',
  help: '显示帮助',
  tryHelp: '（用法见 --help）',
  after: `
退出码：0 符合预期，1 不符合，2 判断不了。
从这里开始：npx lockstep ladder; npx lockstep run mutex-per-user --instances 4`,
  groups: { learn: '学习：', break: '故障注入：', measure: '测量：', operate: '运维：' },
  layout: {
    minWidthToWrap: 30,
    displayWidth: columns,
    styleTitle: (title) => titles[title] ?? title,
    optionDescription: withNotes,
    argumentDescription: withNotes,
    boxWrap: (text, width) =>
      text
        .split('\n')
        .map((line) => wrap(line, width, ''))
        .join('\n'),
  },
};

function withNotes({ description, argChoices, defaultValue }: Option | Argument): string {
  const usual = defaultValue === false ? '' : String(defaultValue ?? '');
  const notes = [
    ...(argChoices ? [`可选 ${argChoices.join('、')}`] : []),
    ...(usual === '' ? [] : [`默认 ${usual}`]),
  ];
  return notes.length === 0 ? description : `${description}（${notes.join('；')}）`;
}

export const helpWords: Readonly<Record<Language, HelpWords>> = { en, zh };
