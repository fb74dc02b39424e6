import { labError } from '../lab/errors.ts';
import { labTokenSecret } from '../service/config.ts';
import { Id } from '../service/http/ids.ts';
import { signToken } from '../service/http/tokens.ts';
import type { AddCommand } from './output.ts';

const daySeconds = 86_400;
const mostTokens = 1_000_000;

interface TokenOptions {
  readonly operator: boolean;
  readonly csv: boolean;
}

export const addToken: AddCommand = (program) =>
  program
    .command('token')
    .description('print bearer tokens of the lab, valid for a day')
    .argument('<user>', 'the user’s id, or a range of them: 1..2000')
    .option('--operator', 'with the role of an operator, who creates vouchers', false)
    .option('--csv', 'as user,token with a head line, for JMeter and other tools', false)
    .addHelpText(
      'after',
      '\n  curl -H "Authorization: Bearer $(npx lockstep token 7)" …' +
        '\n  npx lockstep token 1..2000 > tokens.txt          TOKENS_FILE of k6' +
        '\n  npx lockstep token 1..2000 --csv > tokens.csv    JMeter: CSV Data Set Config',
    )
    .action(async (users: string, { operator, csv }: TokenOptions) => {
      if (csv) console.log('user,token');
      for (const user of usersOf(users)) {
        const role = operator ? 'operator' : 'user';
        const token = await signToken(labTokenSecret, user, role, daySeconds);
        console.log(csv ? `${user},${token}` : token);
      }
    });

/** @throws INVALID_ID @throws INVALID_RANGE */
function* usersOf(text: string): Generator<string> {
  const [first = '', last = first, ...more] = text.split('..');
  if (more.length > 0 || ![first, last].every((id) => Id.safeParse(id).success))
    throw labError('INVALID_ID', text);
  const count = BigInt(last) - BigInt(first) + 1n;
  if (count < 1n || count > mostTokens) throw labError('INVALID_RANGE', text, mostTokens);
  for (let user = BigInt(first); user <= BigInt(last); user++) yield String(user);
}
