import { labTokenSecret } from '../config.ts';
import { Id } from '../http/ids.ts';
import { signToken } from '../http/tokens.ts';
import { InvalidId } from '../lab/errors.ts';
import type { AddCommand } from './output.ts';

const daySeconds = 86_400;

export const addToken: AddCommand = (program) =>
  program
    .command('token')
    .description('print a bearer token of the lab, valid for a day')
    .argument('<user>', 'the user’s id')
    .option('--operator', 'with the role of an operator, who creates vouchers', false)
    .addHelpText('after', '\n  curl -H "Authorization: Bearer $(npx lockstep token 7)" …')
    .action(async (user: string, { operator }: { operator: boolean }) => {
      if (!Id.safeParse(user).success) throw new InvalidId(user);
      console.log(
        await signToken(labTokenSecret, user, operator ? 'operator' : 'user', daySeconds),
      );
    });
