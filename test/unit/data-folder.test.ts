/** What a fault put aside: it is a server's data again when the lab stops, also after a crash. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { forgetKept, keepCopy, putAside } from '../../src/lab/environment/data-folder.ts';
import { Lab } from '../../src/lab/environment/lab.ts';
import { someFolder } from '../support/basics.ts';

const faults = { 'put aside': putAside, copied: keepCopy };

describe.each(Object.entries(faults))('data that a fault has %s', (_, breakData) => {
  test.each([
    ['is the data of the server again once the lab is stopped', 'before', () => {}],
    ['is not given back once the server has newer data that are right', 'after', forgetKept],
  ])('%s', async (_, left, forget) => {
    const lab = someFolder();
    const data = join(lab, 'redis-1');
    mkdirSync(data);
    writeFileSync(join(data, 'orders'), 'before');
    breakData(data);
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'orders'), 'after');
    forget(data);
    await Lab.stop(lab);
    expect(readFileSync(join(data, 'orders'), 'utf8')).toBe(left);
    expect(existsSync(`${data}.kept`)).toBe(false);
  });
});
