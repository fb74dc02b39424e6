/** What several commands take: each option once, and the schemas of what is named or counted. */
import { z } from 'zod';
import { isId } from '../../service/domain.ts';
import { serviceError } from '../../service/errors.ts';
import { isRungName, rungNames } from '../../service/ladder/rungs.ts';
import { flag, wholeNumber } from '../../service/operate/words.ts';
import { languages } from '../../texts/texts.ts';
import { minutesMax } from '../by-hand/break-choice.ts';
import { databases, defaultDatabase } from '../environment/servers/database.ts';
import { labError } from '../errors.ts';
import { parsePause, pauseFormat } from '../play/pauses.ts';
import { wrap } from '../report/wrap.ts';
import { entry, named } from './row.ts';

export const seedNumber = wholeNumber(0, 2 ** 31);

const minutesError = { error: `It must be a number above 0, at most ${minutesMax}.` };
/** A part of a minute is allowed: 0.5. */
export const someMinutes = z.number(minutesError).gt(0, minutesError).max(minutesMax, minutesError);

export const pauses = z.array(
  z.string().refine((text) => parsePause(text) !== null, { error: () => `\n${wrap(pauseFormat)}` }),
);

export const knownId = named(
  (text): text is string => isId(text),
  (text) => labError('INVALID_ID', text),
);

export const unknownRung = (name: string) => serviceError('UNKNOWN_RUNG', name, rungNames);
export const knownRung = named(isRungName, unknownRung);

export const rung = entry({
  schema: knownRung,
  en: 'a name from `lockstep ladder`',
  zh: '`lockstep ladder` 列出的名字',
});

export const stockOption = (usual: number) =>
  entry({
    schema: wholeNumber(0, 1_000_000).default(usual),
    en: 'vouchers for sale',
    zh: '库存多少张',
  });

export const workMsOption = (usual: number) =>
  entry({
    schema: wholeNumber(0, 10_000).default(usual),
    en: 'time between a sale’s check and its write',
    zh: '检查和写入之间隔多少毫秒',
  });

export const json = entry({
  schema: flag,
  en: 'print JSON instead of text',
  zh: '输出 JSON，不输出文本',
  repeat: 'never',
});

export const list = entry({
  schema: flag,
  en: 'list them, and what each is about',
  zh: '全部列出来，以及各是什么',
  repeat: 'never',
});

export const database = entry({
  schema: z.enum(databases).optional(),
  value: '<name>',
  en: `the lab’s database (default: ${defaultDatabase})`,
  zh: `实验环境用的数据库（默认 ${defaultDatabase}）`,
  repeat: 'never', // The database that was used is added to every command at its end.
});

export const times = (most: number) =>
  entry({
    schema: wholeNumber(1, most).default(1),
    en: 'how often it is played; the report is of the first that is not as expected',
    zh: '跑几次；报告写的是第一次不符合预期的',
  });

/** The language of the options that are not given. */
export const languageVariable = 'LOCKSTEP_LANGUAGE';

export const language = entry({
  schema: z.enum(languages).default('en'),
  value: '<code>',
  en: 'the language of texts and errors; else that of LANG',
  zh: '用哪种语言输出；不写就看 LANG',
  variable: languageVariable,
  repeat: 'never',
});
