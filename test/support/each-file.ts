/** Runs for each file of tests: the modules of a worker are loaded once for all of its files. */
import { beforeAll } from 'vitest';
import { ensureShape } from './own-lab.ts';

beforeAll(ensureShape);
