import type { Clause } from '../clause.ts';
import { withoutAMaster } from './without-a-master.ts';

export const hungMaster: Clause = {
  name: 'hung master',
  head: 'hung',
  proves: 'With a master that is stopped (SIGSTOP), the same, in the same time.',
  run: (subject, field) => withoutAMaster(subject, field, 'hung'),
};
