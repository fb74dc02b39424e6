/** What the workshop says itself, in each language. */
import type { Language } from '../../ladder/texts/texts.ts';

const en = {
  workshop: 'The Lockstep workshop',
  step: (number: number, of: number, title: string) => `Step ${number} of ${of}: ${title}`,
  toPredict: 'Predict first:',
  predicted: (letter: string) => `You predicted ${letter}.`,
  isRight: 'It is right.',
  isNotRight: (letter: string) => `${letter} is right.`,
  toPlay: 'Do it yourself, or let this play the commands:',
  played: 'Played:',
  asClaimed: { yes: 'as the ladder claims', no: 'NOT as the ladder claims', unknown: 'not known' },
  asItMust: { yes: 'as it must be', no: 'NOT as it must be', unknown: 'not known' },
  why: 'Why',
  code: 'The code',
  exercise: 'Exercise',
  goOn: 'Go on:',
  isLast: 'That was the last step. Your numbers:',
  hintOf: (number: number, of: number) => `Hint ${number} of ${of}:`,
  noHints: 'This step has no exercise with hints. Its exercise is a question: play it.',
  lastHint: 'That was the last one. The solution:',
  wasReset: 'The predictions and the results of the last group are gone.',
  findings: 'What this group predicted and saw',
  question: 'Question',
  prediction: 'Prediction',
  verdict: 'Seen here',
  nothing: '–',
  exercises: 'Exercises',
  mended: 'mended',
  notMended: 'not mended yet',
  machine: 'Machine',
  files: 'Your files:',
  huntFiles:
    'Your files are in this folder. Their names tell where the defect is: look there last.',
  filesHint: 'The defect is in one of these files:',
  tryIt: 'Try them:',
  isItMended: 'Mended?',
  hintIs: 'A hint:',
  goesOn: 'It was begun before, and your files are as you left them. To begin anew:',
  keptIn: 'What you wrote before is kept in',
  promises: 'What may never happen: more orders than stock, two orders of one user, a lost order.',
  opening:
    'Two minutes. Many people buy the same few vouchers in the same second. Read the three promises aloud: ' +
    'every step breaks one of them or keeps them all. In each step the group predicts first, then plays, then ' +
    'reads why. A wrong prediction is the point of the step, not a mistake.',
  allMended: (name: string) => `${name}: mended. Every play is as it must be.`,
  broken: (name: string, broken: number, of: number) =>
    `${name}: not mended yet. ${broken} of ${of} plays are not as they must be.`,
  replay: 'replay',
  score: (right: number, of: number) => `${right} of ${of} predictions were right.`,
  notes: 'N: the speaker’s notes',
  moves: '← →: the steps',
  open: 'Open in the page',
  answer: 'Click your prediction',
};
type WorkshopText = typeof en;

const zh: WorkshopText = {
  workshop: 'Lockstep 课堂',
  step: (number, of, title) => `第 ${number} 步（共 ${of} 步）：${title}`,
  toPredict: '先预测：',
  predicted: (letter) => `你预测的是 ${letter}。`,
  isRight: '对了。',
  isNotRight: (letter) => `正确的是 ${letter}。`,
  toPlay: '自己操作，或者让程序来跑这些命令：',
  played: '已运行：',
  asClaimed: { yes: '与阶梯所述一致', no: '与阶梯所述不一致', unknown: '无法判定' },
  asItMust: { yes: '符合要求', no: '不符合要求', unknown: '无法判定' },
  why: '原因',
  code: '代码',
  exercise: '练习',
  goOn: '继续：',
  isLast: '这是最后一步。你们的结果：',
  hintOf: (number, of) => `提示 ${number}（共 ${of} 条）：`,
  noHints: '这一步的练习没有提示，它是一个问题：动手跑一遍就知道。',
  lastHint: '没有更多提示了。答案：',
  wasReset: '上一组的预测和结果都已清除。',
  findings: '这一组的预测和所见',
  question: '问题',
  prediction: '预测',
  verdict: '实际结果',
  nothing: '–',
  exercises: '练习',
  mended: '已修好',
  notMended: '还没修好',
  machine: '机器',
  files: '你的文件：',
  huntFiles: '你的文件在这个文件夹里。看到文件名就知道缺陷在哪儿，所以最后才打开：',
  filesHint: '缺陷就在这些文件里：',
  tryIt: '试一试：',
  isItMended: '修好了吗？',
  hintIs: '提示：',
  goesOn: '之前已经开始过，你的文件都还在。要从头开始：',
  keptIn: '之前写的都保存在',
  promises: '绝不能发生的事：超卖、一人两单、丢单。',
  opening:
    '两分钟。很多人在同一秒抢同样几张券。把三条承诺读一遍：每一步不是打破其中一条，就是全部守住。' +
    '每一步都先预测，再操作，最后看原因。预测错了不是失误，这一步要的正是它。',
  allMended: (name) => `${name}：修好了，每一项都符合要求。`,
  broken: (name, broken, of) => `${name}：还没修好，${of} 项里有 ${broken} 项不符合要求。`,
  replay: '回放',
  score: (right, of) => `${of} 个预测里对了 ${right} 个。`,
  notes: 'N：讲解要点',
  moves: '← →：切换步骤',
  open: '在页面里打开',
  answer: '点击你的预测',
};

export const workshopTexts: Readonly<Record<Language, WorkshopText>> = { en, zh };

/** The option that a printed command needs so that its answer comes in this language. */
export const languageOption = (language: Language): string =>
  language === 'en' ? '' : ` --language ${language}`;
