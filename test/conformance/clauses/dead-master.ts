import type { Clause } from '../clause.ts';
import { withoutAMaster } from './without-a-master.ts';

export const deadMaster: Clause = {
  name: 'dead master',
  head: 'dead',
  proves:
    'With a killed master, a majority still grants; any other lock fails with an error, in time.',
  run: (subject, field) => withoutAMaster(subject, field, 'dead'),
};
