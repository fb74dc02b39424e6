/** `token`: for curl and the tools that load the lab. It needs no lab, and little time. */
import { z } from 'zod';
import { commandRow } from '../lab/commands/row.ts';
import { labError } from '../lab/errors.ts';
import { labTokenSecret } from '../service/config.ts';
import { isId } from '../service/domain.ts';
import { signToken } from '../service/http/tokens.ts';
import { flag } from '../service/operate/words.ts';
import { command } from './command.ts';

const daySeconds = 86_400;

const tokenRow = commandRow({
  name: 'token',
  about: {
    en: 'print bearer tokens of the lab, valid for a day',
    zh: '打印实验环境的令牌，一天内有效',
  },
  arguments: {
    user: {
      schema: z.string(),
      en: 'the user’s id, or a range of them: 1..2000',
      zh: '用户 id，或一段：1..2000',
    },
  },
  options: {
    operator: {
      schema: flag,
      en: 'with the role of an operator, who creates vouchers',
      zh: '运营人员的角色，可以创建券',
    },
    csv: {
      schema: flag,
      en: 'as user,token with a head line, for JMeter and other tools',
      zh: '带表头的 user,token，给 JMeter 等工具用',
    },
  },
  examples:
    '\n  curl -H "Authorization: Bearer $(npx lockstep token 7)" …' +
    '\n  npx lockstep token 1..2000 > tokens.txt          TOKENS_FILE of k6' +
    '\n  npx lockstep token 1..2000 --csv > tokens.csv    JMeter: CSV Data Set Config',
});

export const addToken = command(tokenRow, async (_, { user: users, operator, csv }) => {
  if (csv) console.log('user,token');
  for (const user of usersOf(users)) {
    const role = operator ? 'operator' : 'user';
    const token = await signToken(labTokenSecret, user, role, daySeconds);
    console.log(csv ? `${user},${token}` : token);
  }
});

const tokensMax = 1_000_000;

/** @throws INVALID_ID @throws INVALID_RANGE */
function* usersOf(text: string): Generator<string> {
  const [first = '', last = first, ...more] = text.split('..');
  if (more.length > 0 || ![first, last].every((id) => isId(id))) throw labError('INVALID_ID', text);
  const count = BigInt(last) - BigInt(first) + 1n;
  if (count < 1n || count > tokensMax) throw labError('INVALID_RANGE', text, tokensMax);
  for (let user = BigInt(first); user <= BigInt(last); user++) yield String(user);
}
