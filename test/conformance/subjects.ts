/** The locks that the clauses are run on. A new one is a file in subjects/ and a row here. */
import type { Subject } from './subject.ts';
import { ioredisLock } from './subjects/ioredis-lock.ts';
import { ours } from './subjects/ours.ts';
import { semaphoreMutex, semaphoreRedlock } from './subjects/redis-semaphore.ts';
import { redlock4, redlock4Impatient } from './subjects/redlock-4.ts';
import { redlock5 } from './subjects/redlock-5.ts';
import { simpleRedisMutex } from './subjects/simple-redis-mutex.ts';

const others: readonly Subject[] = [
  redlock4,
  redlock4Impatient,
  redlock5,
  semaphoreMutex,
  semaphoreRedlock,
  ioredisLock,
  simpleRedisMutex,
];

export const conformanceSubjects: readonly Subject[] = [...ours, ...others];
