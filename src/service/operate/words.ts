/**
 * The words of a command line, by the schemas of what they mean. A schema has its default in it, or
 * says that the value may be missing.
 */
import { z } from 'zod';
import { isId } from '../domain.ts';

export const flag = z.boolean().default(false);

export const idWord = z.string().refine(isId);

export function wholeNumber(least: number, most: number) {
  const error = `It must be a whole number from ${least} to ${most}.`;
  return z.int({ error }).min(least, { error }).max(most, { error });
}

/** The schema of a value that is there. */
export function coreOf(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodOptional
    ? coreOf(schema.unwrap())
    : schema;
}

export const isFlag = (schema: z.core.$ZodType): boolean => coreOf(schema) instanceof z.ZodBoolean;

/** A number is its decimal digits: `1e3` and ` 7` are words. */
export const valueOfWord = (schema: z.core.$ZodType, word: string): unknown =>
  coreOf(schema) instanceof z.ZodNumber && /^\d+(\.\d+)?$/.test(word) ? Number(word) : word;

/** `voucher-id` */
export const optionName = (key: string): string =>
  key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
