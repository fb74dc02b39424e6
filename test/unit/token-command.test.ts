/** `lockstep token`: one user, or all users of a load at once. */
import { Command } from 'commander';
import jsonwebtoken from 'jsonwebtoken';
import { expect, test, vi } from 'vitest';
import { addToken } from '../../src/cli/token.ts';
import { workFolders } from '../../src/lab/environment/work-folders.ts';
import { labTokenSecret } from '../../src/service/config.ts';

async function printed(...args: string[]): Promise<string[]> {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  const program = new Command().exitOverride();
  addToken(program, workFolders({}));
  try {
    await program.parseAsync(['token', ...args], { from: 'user' });
    return log.mock.calls.map(([line]) => String(line));
  } finally {
    log.mockRestore();
  }
}

const claims = (token = '') => jsonwebtoken.verify(token, labTokenSecret);

test('one user has one token, with the role of a user or of an operator', async () => {
  const [user, ...more] = await printed('7');
  expect(more).toEqual([]);
  expect(claims(user)).toMatchObject({ sub: '7', role: 'user' });
  const [operator] = await printed('7', '--operator');
  expect(claims(operator)).toMatchObject({ sub: '7', role: 'operator' });
});

test('a range has a token on each line, also beyond 2^53', async () => {
  const tokens = await printed('9223372036854775806..9223372036854775807');
  const users = tokens.map((token) => claims(token).sub);
  expect(users).toEqual(['9223372036854775806', '9223372036854775807']);
  expect(await printed('1..2000')).toHaveLength(2_000);
});

test('CSV has a head line, and the user before each token', async () => {
  const [head, first = '', second = '', ...more] = await printed('4..5', '--csv');
  expect(head).toBe('user,token');
  expect(more).toEqual([]);
  const rows = [first, second].map((line) => line.split(','));
  expect(rows.map(([user]) => user)).toEqual(['4', '5']);
  expect(rows.map(([, token]) => claims(token).sub)).toEqual(['4', '5']);
});

test.each([
  ['5..3', 'INVALID_RANGE'],
  ['1..1000001', 'INVALID_RANGE'],
  ['0..3', 'INVALID_ID'],
  ['1..x', 'INVALID_ID'],
  ['1..2..3', 'INVALID_ID'],
  ['1..', 'INVALID_ID'],
])('%s is refused', async (users, code) => {
  await expect(printed(users)).rejects.toMatchObject({ code });
});
