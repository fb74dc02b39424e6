/** Settings of a service whose first client of a role meets trouble with its first command. */
import { join } from 'node:path';
import { someFolder } from './folder.ts';

const program = new URL('first-command.mjs', import.meta.url).pathname;

/** @param commands separated by commas; first-command.mjs says what happens to them. */
export const firstOf = (role: string, commands: string, does: 'hangs' | 'refuses') => ({
  NODE_OPTIONS: `--import ${program}`,
  ...{ FIRST_ROLE: role, FIRST_COMMANDS: commands, FIRST_DOES: does },
  FIRST_MARK: join(someFolder(), 'first'),
});
