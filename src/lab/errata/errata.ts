/**
 * The sentences of the course notes that no race and no drill tries. docs/course.md lists all of
 * them.
 */
import type { Erratum } from './erratum.ts';
import { idErrata } from './id-errata.ts';
import { lockErrata } from './lock-errata.ts';
import { queueErrata } from './queue-errata.ts';
import { rabbitmqErrata } from './rabbitmq-errata.ts';
import { scriptErrata } from './script-errata.ts';
import { sqlErrata } from './sql-errata.ts';

export const errata = {
  ...scriptErrata,
  ...lockErrata,
  ...sqlErrata,
  ...idErrata,
  ...queueErrata,
  ...rabbitmqErrata,
} as const satisfies Record<string, Erratum>;
export type ErratumName = keyof typeof errata;
export const erratumNames = Object.keys(errata) as ErratumName[];

export const isErratumName = (name: string): name is ErratumName => Object.hasOwn(errata, name);
