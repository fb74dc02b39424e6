/** The history of a voucher, read from the files of several processes. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readHistory } from '../../src/service/audit/read-history.ts';
import { someFolder } from '../support/basics.ts';
import { history } from './facts.ts';

/** Files of a history, by name; each has the lines of `history`, or entries as they are. */
function written(files: Readonly<Record<string, readonly (string | object)[]>>): string {
  const folder = someFolder();
  for (const [name, entries] of Object.entries(files)) {
    const lines = entries.map((entry) =>
      JSON.stringify(typeof entry === 'string' ? history(entry)[0] : entry),
    );
    writeFileSync(join(folder, name), `${lines.join('\n')}\n`);
  }
  return folder;
}

const read = (folder: string) =>
  readHistory(folder, '9').history.map(({ orderId, event, at }) => `${at} ${orderId} ${event}`);

test('is in the order of time, over all processes', () => {
  const folder = written({
    'api-1-10.jsonl': ['1 A 7 requested', '10 A 7 granted'],
    'api-2-11.jsonl': ['2 B 7 requested', '3 B 7 denied'],
  });
  // By their times as whole numbers, and not as texts.
  expect(read(folder)).toEqual([
    ...['1000000 A requested', '2000000 B requested', '3000000 B denied', '10000000 A granted'],
  ]);
});

test('has no events of another voucher', () => {
  const [other] = history('1 A 7 granted');
  const folder = written({ 'api-1-10.jsonl': [{ ...other, voucherId: '99' }, '2 B 7 granted'] });
  expect(read(folder)).toEqual(['2000000 B granted']);
});

test('has a death for each order that held or awaited a lock when its process died', () => {
  const died = (pid: number) => ({ at: '9000000', event: 'died', pid });
  const folder = written({
    'primary-1.jsonl': [died(10)],
    'api-1-10.jsonl': [
      ...['1 A 7 requested', '2 A 7 granted', '3 A 7 releasing'],
      ...['1 B 7 requested', '2 B 7 denied'],
      ...['4 C 7 requested', '5 C 7 granted'],
      '6 D 7 requested',
    ],
    'api-2-11.jsonl': ['1 E 7 requested', '7 E 7 granted'],
  });
  const deaths = readHistory(folder, '9').history.filter(({ event }) => event === 'died');
  expect(deaths.map(({ at, orderId, resource }) => `${at} ${orderId} ${resource}`)).toEqual([
    ...['9000000 C lock', '9000000 D lock'],
  ]);
});

test('has a gap when a process could not write an event', () => {
  const whole = { 'api-1-10.jsonl': ['1 A 7 granted'] };
  expect(readHistory(written(whole), '9').historyHasGap).toBe(false);
  const gap = { 'api-2-11.jsonl': [{ at: '5', event: 'gap' }] };
  expect(readHistory(written({ ...whole, ...gap }), '9').historyHasGap).toBe(true);
});

test('is empty without a folder, and ignores other files', () => {
  expect(read('/no/such/folder')).toEqual([]);
  const folder = written({ 'note.txt': ['1 A 7 granted'] });
  mkdirSync(join(folder, 'sub'));
  expect(read(folder)).toEqual([]);
});
