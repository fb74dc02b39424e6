/** What `dead-letters` does and prints, for the lab's command line and for a deployment. */

import { pino } from 'pino';
import { z } from 'zod';
import type { Connections } from '../connections/connections.ts';
import { isId } from '../domain.ts';
import { LockstepError, serviceError } from '../errors.ts';
import type { OperationResult } from '../operate/operate.ts';
import { flag, wholeNumber } from '../operate/words.ts';
import { openOrderIds } from '../order-ids/open-order-ids.ts';
import type { OrderIds } from '../order-ids/order-ids.ts';
import { findOrder } from './find-order.ts';
import {
  type DeadLetter,
  discardLetter,
  findLetter,
  listLetters,
  replayLetter,
} from './letters.ts';

export const LettersGiven = z.object({
  act: z.enum(['list', 'show', 'replay', 'discard']),
  /** Its id. Not for `list`, nor with `all`. */
  letter: z.string().optional(),
  /** The most that are listed, the oldest first. */
  most: wholeNumber(1, 999_999).default(100),
  /** Replays or discards every letter that the filter leaves. */
  all: flag,
  /** The filter of `list` and `all`. */
  reason: z.string().optional(),
  voucherId: z.string().optional(),
});
type LettersRequest = z.infer<typeof LettersGiven>;

type Perform = (id: string) => Promise<OperationResult>;

/**
 * Its exit code is 1 when some letters of `all` were refused.
 * @throws LETTER_ID_MISSING, UNKNOWN_DEAD_LETTER, or why one letter could not be replayed
 */
export async function runDeadLetters(
  connections: Connections,
  request: LettersRequest,
): Promise<OperationResult> {
  const { act, letter } = request;
  if (act === 'list') return list(connections, request);
  const isOfAll = request.all && act !== 'show';
  if (letter === undefined && !isOfAll) throw serviceError('LETTER_ID_MISSING', act);
  return performing(connections, act, (perform) =>
    isOfAll ? onAll(connections, perform, request) : perform(letter ?? ''),
  );
}

/** A replay needs new order ids: they are opened once for all letters. */
function performing(
  connections: Connections,
  act: Exclude<LettersRequest['act'], 'list'>,
  work: (perform: Perform) => Promise<OperationResult>,
): Promise<OperationResult> {
  if (act === 'show') return work((id) => show(connections, id));
  if (act === 'discard') return work((id) => discard(connections, id));
  return withOrderIds(connections, (ids) => work((id) => replay(connections, ids, id)));
}

const whole = (data: unknown, text: string): OperationResult => ({ data, text, exitCode: 0 });

async function chosen(
  connections: Connections,
  { most, reason, voucherId }: LettersRequest,
): Promise<{ letters: DeadLetter[]; total: number }> {
  const isFiltered = reason !== undefined || voucherId !== undefined;
  const { letters, total } = await listLetters(connections, isFiltered ? readMax : most);
  const wanted = letters.filter(
    (each) =>
      (reason === undefined || each.reason === reason) &&
      (voucherId === undefined || each.voucherId === voucherId),
  );
  return { letters: wanted.slice(0, most), total };
}

/** The most letters of each shard that a filter reads. */
const readMax = 100_000;

async function list(connections: Connections, request: LettersRequest): Promise<OperationResult> {
  const { letters, total } = await chosen(connections, request);
  if (total === 0) return whole({ total, letters }, 'There are no dead letters.');
  const count = `${letters.length} of ${total} dead letters, the oldest first`;
  return whole({ total, letters }, [count, ...letters.map(summary)].join('\n\n'));
}

async function show(connections: Connections, id: string): Promise<OperationResult> {
  const letter = await findLetter(connections, id);
  const order = await statusOf(connections, letter.orderId);
  const replayed = await statusOf(connections, letter.replayedAs);
  const lines = [
    `${summary(letter)}${letter.cause ? `\n  malformed: ${letter.cause}` : ''}`,
    `order ${letter.orderId ?? '-'}: ${order}`,
    ...(letter.replayedAs ? [`order ${letter.replayedAs}, of the replay: ${replayed}`] : []),
    'Its entry:',
    ...pairs(letter.entry).map(([name, value]) => `  ${plain(name)}=${plain(value)}`),
  ];
  return whole({ ...letter, order, replayed }, lines.join('\n'));
}

async function replay(
  connections: Connections,
  orderIds: Pick<OrderIds, 'next'>,
  id: string,
): Promise<OperationResult> {
  const { orderId, isFirst } = await replayLetter(connections, orderIds, id);
  const done = isFirst ? 'is replayed' : 'was replayed before';
  return whole(
    { letter: id, orderId, isFirst },
    `Letter ${id} ${done}: order ${orderId}. When that is confirmed, discard the letter.`,
  );
}

async function withOrderIds<T>(
  connections: Connections,
  work: (orderIds: OrderIds) => Promise<T>,
): Promise<T> {
  const orderIds = await openOrderIds(connections, pino({ level: 'silent' }));
  try {
    return await work(orderIds);
  } finally {
    orderIds.close();
  }
}

async function discard(connections: Connections, id: string): Promise<OperationResult> {
  const letter = await discardLetter(connections, id);
  return whole(letter, `Discarded:\n\n${summary(letter)}\n  ${JSON.stringify(letter.entry)}`);
}

/** One after the other; a letter that is refused stops no other one. */
async function onAll(
  connections: Connections,
  perform: Perform,
  request: LettersRequest,
): Promise<OperationResult> {
  const { letters } = await chosen(connections, request);
  const done: OperationResult[] = [];
  const refused: { letter: string; code: string; message: string }[] = [];
  for (const { id } of letters)
    try {
      done.push(await perform(id));
    } catch (error) {
      if (!(error instanceof LockstepError)) throw error;
      refused.push({ letter: id, code: error.code, message: error.message });
    }
  const texts = [
    `${letters.length} letters: ${done.length} done, ${refused.length} refused`,
    ...done.map(({ text }) => text),
    ...refused.map(({ letter, code, message }) => `Letter ${letter}: ${code}: ${message}`),
  ];
  const data = { done: done.map((each) => each.data), refused };
  return { data, text: texts.join('\n\n'), exitCode: refused.length > 0 ? 1 : 0 };
}

async function statusOf(connections: Connections, orderId = ''): Promise<string> {
  const order = isId(orderId) ? await findOrder(connections, orderId) : null;
  if (!order) return 'not found';
  return order.reason === undefined ? order.status : `${order.status} (${order.reason})`;
}

function summary(letter: DeadLetter): string {
  const { id, deadAt, reason, voucherId, orderId, userId, deliveries, replayedAs } = letter;
  const [voucher, order, user] = [voucherId, orderId, userId].map((each = 'unknown') =>
    plain(each),
  );
  const lines = [
    `${id}  ${deadAt}  ${reason}`,
    `  order ${order}, voucher ${voucher}, user ${user}, deliveries ${deliveries ?? 'unknown'}`,
  ];
  if (replayedAs !== undefined) lines.push(`  replayed as order ${replayedAs}`);
  return lines.join('\n');
}

/** A damaged entry may have characters that change a terminal. */
const plain = (text: string): string => JSON.stringify(text).slice(1, -1);

const pairs = (fields: readonly string[]): [name: string, value: string][] =>
  Array.from({ length: Math.ceil(fields.length / 2) }, (_, index) => [
    fields[2 * index] ?? '',
    fields[2 * index + 1] ?? '',
  ]);
