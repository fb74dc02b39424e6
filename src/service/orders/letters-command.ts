/** What `dead-letters` does and prints, for the lab's command line and for a deployment. */

import { pino } from 'pino';
import { z } from 'zod';
import type { Connections } from '../connections/connections.ts';
import { pairsOf } from '../connections/pairs.ts';
import { isId } from '../domain.ts';
import { LockstepError, serviceError } from '../errors.ts';
import type { OperationResult } from '../operate/operate.ts';
import { type OperateSentences, operateSentences } from '../operate/sentences.ts';
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
  say: OperateSentences = operateSentences,
): Promise<OperationResult> {
  const { act, letter } = request;
  const place = { connections, say };
  if (act === 'list') return list(place, request);
  const isOfAll = request.all && act !== 'show';
  if (letter === undefined && !isOfAll) throw serviceError('LETTER_ID_MISSING', act);
  return performing(place, act, (perform) =>
    isOfAll ? onAll(place, perform, request) : perform(letter ?? ''),
  );
}

interface Place {
  readonly connections: Connections;
  readonly say: OperateSentences;
}

/** A replay needs new order ids: they are opened once for all letters. */
function performing(
  place: Place,
  act: Exclude<LettersRequest['act'], 'list'>,
  work: (perform: Perform) => Promise<OperationResult>,
): Promise<OperationResult> {
  if (act === 'show') return work((id) => show(place, id));
  if (act === 'discard') return work((id) => discard(place, id));
  return withOrderIds(place.connections, (ids) => work((id) => replay(place, ids, id)));
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

async function list(
  { connections, say }: Place,
  request: LettersRequest,
): Promise<OperationResult> {
  const { letters, total } = await chosen(connections, request);
  if (total === 0) return whole({ total, letters }, say.noLetters);
  const count = say.letters(letters.length, total);
  const all = letters.map((each) => summary(each, say));
  return whole({ total, letters }, [count, ...all].join('\n\n'));
}

async function show({ connections, say }: Place, id: string): Promise<OperationResult> {
  const letter = await findLetter(connections, id);
  const order = await statusOf(connections, letter.orderId);
  const replayed = await statusOf(connections, letter.replayedAs);
  const lines = [
    summary(letter, say),
    ...(letter.cause ? [say.malformed(letter.cause)] : []),
    say.order(letter.orderId ?? '-', order ?? say.orderNotFound),
    ...(letter.replayedAs
      ? [say.orderOfReplay(letter.replayedAs, replayed ?? say.orderNotFound)]
      : []),
    say.entry,
    ...pairsOf(letter.entry).map(([name, value]) => `  ${plain(name)}=${plain(value)}`),
  ];
  const { orderNotFound: none } = operateSentences;
  const data = { ...letter, order: order ?? none, replayed: replayed ?? none };
  return whole(data, lines.join('\n'));
}

async function replay(
  { connections, say }: Place,
  orderIds: Pick<OrderIds, 'next'>,
  id: string,
): Promise<OperationResult> {
  const { orderId, isFirst } = await replayLetter(connections, orderIds, id);
  return whole({ letter: id, orderId, isFirst }, say.replayed(id, orderId, isFirst));
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

async function discard({ connections, say }: Place, id: string): Promise<OperationResult> {
  const letter = await discardLetter(connections, id);
  const entry = JSON.stringify(letter.entry);
  return whole(letter, `${say.discarded}\n\n${summary(letter, say)}\n  ${entry}`);
}

/** One after the other; a letter that is refused stops no other one. */
async function onAll(
  { connections, say }: Place,
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
    say.ofAll(letters.length, done.length, refused.length),
    ...done.map(({ text }) => text),
    ...refused.map(({ letter, code, message }) => say.refused(letter, code, message)),
  ];
  const data = { done: done.map((each) => each.data), refused };
  return { data, text: texts.join('\n\n'), exitCode: refused.length > 0 ? 1 : 0 };
}

/** null: there is no such order. */
async function statusOf(connections: Connections, orderId = ''): Promise<string | null> {
  const order = isId(orderId) ? await findOrder(connections, orderId) : null;
  if (!order) return null;
  return order.reason === undefined ? order.status : `${order.status} (${order.reason})`;
}

function summary(letter: DeadLetter, say: OperateSentences): string {
  const { id, deadAt, reason, voucherId, orderId, userId, deliveries, replayedAs } = letter;
  const [voucher, order, user] = [voucherId, orderId, userId].map((each) => each && plain(each));
  const lines = [`${id}  ${deadAt}  ${reason}`, say.letter({ order, voucher, user, deliveries })];
  if (replayedAs !== undefined) lines.push(say.replayedAs(replayedAs));
  return lines.join('\n');
}

/** A damaged entry may have characters that change a terminal. */
const plain = (text: string): string => JSON.stringify(text).slice(1, -1);
