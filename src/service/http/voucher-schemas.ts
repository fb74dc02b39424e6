/** The parts of a voucher in requests and answers, and the limits of the bodies that have them. */
import { z } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { Voucher } from '../domain.ts';
import { Id } from './ids.ts';
import { problem } from './problems.ts';

/** Of every route that reads a body. nginx has the same limit for all routes. */
const maxBodyBytes = 16_384;
export const smallBody = bodyLimit({
  maxSize: maxBodyBytes,
  onError: (c) => problem(c, 'body-too-large'),
});

/** `application/json;` and `application/json ; charset=utf-8` are JSON too: RFC 9110, 8.3.1. */
export const anyJsonType: MiddlewareHandler = async (c, next) => {
  if (/^application\/json\s*;/i.test(c.req.header('content-type') ?? ''))
    c.req.raw.headers.set('content-type', 'application/json');
  await next();
};

/** Times of this century only: MySQL, Redis and JavaScript have different limits beyond it. */
export const Time = z.iso.datetime({ offset: true }).refine((time) => {
  const year = new Date(time).getUTCFullYear();
  return year >= 2000 && year < 2100;
}, 'must be between the years 2000 and 2100');

/** Without control characters and half characters, and with something to see. */
export const Title = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .refine((title) => !/[\p{Cc}\p{Cs}]/u.test(title), 'must not have control characters')
  .refine((title) => /[\p{L}\p{N}\p{P}\p{S}]/u.test(title), 'must have a visible character');

export const Stock = z.int().min(0).max(10_000_000);

export const VoucherView = z
  .object({
    id: Id,
    title: z.string(),
    stock: z.int(),
    remaining: z.int().optional(),
    beginTime: Time,
    endTime: Time,
    paused: z.boolean(),
    rung: z.string(),
    buckets: z.int().optional(),
    passesAtOnce: z.int().optional(),
  })
  .openapi('Voucher');

export function view(voucher: Voucher, remaining: number | null = null) {
  const { id, title, stock, beginTime, endTime, paused = false, rung } = voucher;
  const { buckets, passesAtOnce } = voucher;
  const shown = {
    id,
    title,
    stock,
    beginTime: beginTime.toISOString(),
    endTime: endTime.toISOString(),
    paused,
    rung,
    ...(buckets !== undefined && { buckets }),
    ...(passesAtOnce !== undefined && { passesAtOnce }),
  };
  return remaining === null ? shown : { ...shown, remaining };
}
