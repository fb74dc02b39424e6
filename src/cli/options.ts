/** The parsers of the options of the benchmarks. */
import { InvalidArgumentError, Option } from 'commander';

export const whole = (least: number, most: number) => (text: string) => {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isInteger(number) || number < least || number > most)
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  return number;
};

export const jsonOption = () => new Option('--json', 'print JSON instead of text').default(false);
