/** What is chosen before a sale is broken by hand. Pure: the page has it, too. */

/** Of every load whose length is chosen. */
export const minutesMax = 60;

/** One after the other; in bursts; or by k6/failover.js in a process of its own. */
export const arrivals = ['steady', 'rush', 'k6'] as const;
export type Arrivals = (typeof arrivals)[number];

export interface BreakChoice<Rung extends string = string> {
  readonly rung: Rung;
  /** A second rung with the same purchases at the same moments, on a voucher of its own. */
  readonly beside?: Rung | undefined;
  readonly arrivals: Arrivals;
  /** On each rung. */
  readonly perSecond: number;
  /** It ends earlier when it is asked to. */
  readonly minutes: number;
}

/** It has ten virtual users for each of them, and each takes memory. */
export const k6PerSecondMax = 200;

/** k6 has its own arrivals: nobody else can have the same. @returns null when it can be played */
export function whyNot(choice: BreakChoice): 'notBeside' | 'k6TooFast' | null {
  const { rung, beside, arrivals, perSecond } = choice;
  if (beside !== undefined && (beside === rung || arrivals === 'k6')) return 'notBeside';
  return arrivals === 'k6' && perSecond > k6PerSecondMax ? 'k6TooFast' : null;
}

export const rungsOf = <Rung extends string>({ rung, beside }: BreakChoice<Rung>): Rung[] =>
  beside ? [rung, beside] : [rung];

const between = '-beside-';

/** `break-redlock`, `break-redlock-beside-lua-stream` */
export const breakName = ({ rung, beside }: Pick<BreakChoice, 'rung' | 'beside'>): string =>
  `break-${rung}${beside ? between + beside : ''}`;

/** `drill-on-redlock`: its faults come at their times. */
export const drillOnName = (choice: Pick<BreakChoice, 'rung' | 'beside'>): string =>
  breakName(choice).replace('break', 'drill-on');

/** @param name of its experiment */
export const rungsOfBreak = (name: string): string[] =>
  name.replace(/^(break|drill-on)-/, '').split(between);
