/** The outsiders by name, and the settings of a service whose processes know them. */
import { fileURLToPath } from 'node:url';

/** Queues of other packages, beside those of the ladder: `outsiders.ts` has their rows. */
export const outsiderNames = ['bullmq', 'bullmq-5s'] as const;
export type OutsiderName = (typeof outsiderNames)[number];

export const isOutsider = (name: string): boolean => outsiderNames.some((each) => each === name);

const rows = new URL('../../../dist/lab/outsiders/outsiders.js', import.meta.url);

export const withOutsiders = { NODE_OPTIONS: `--import ${fileURLToPath(rows)}` } as const;
