/** Creates and changes sales as an operator does, over HTTP; and ends them in MySQL. */
import { z } from 'zod';
import type { Connections } from '../../service/connections/connections.ts';
import { signToken } from '../../service/http/tokens.ts';
import { rungNamed } from '../../service/ladder/rungs.ts';
import type { VoucherEdit } from '../../service/orders/voucher-changes.ts';
import type { Lab } from '../environment/lab.ts';
import { labError } from '../errors.ts';

export interface NewSale {
  readonly title: string;
  readonly stock: number;
  readonly rung: string;
  readonly buckets?: number;
  readonly passesAtOnce?: number;
  /** From now; without it, an hour ago. */
  readonly beginsInMs?: number;
  /** From now; without it, in two hours. */
  readonly endsInMs?: number;
  readonly lab?: { readonly rails?: boolean; readonly workMs?: number; readonly retries?: number };
}

const Created = z.object({ id: z.string() });
const hourMs = 3_600_000;

/**
 * @returns the id of a voucher whose sale is open, and which every instance has in memory.
 * @throws SERVICE_REFUSED
 */
export async function putOnSale(
  lab: Pick<Lab, 'baseUrl' | 'tokenSecret' | 'shape'>,
  sale: NewSale,
): Promise<string> {
  const voucherId = await createVoucher(lab, sale);
  await readOnEveryInstance(lab, voucherId);
  return voucherId;
}

/** @returns the id of a voucher. @throws SERVICE_REFUSED */
export async function createVoucher(
  { baseUrl, tokenSecret }: Pick<Lab, 'baseUrl' | 'tokenSecret'>,
  { beginsInMs = -hourMs, endsInMs = 2 * hourMs, ...sale }: NewSale,
): Promise<string> {
  const at = (fromNowMs: number) => new Date(Date.now() + fromNowMs).toISOString();
  const voucher = { ...sale, beginTime: at(beginsInMs), endTime: at(endsInMs) };
  const answer = await fetch(`${baseUrl}/vouchers`, await byOperator(tokenSecret, 'POST', voucher));
  await refuseUnlessOk(answer, 'the creation of a voucher');
  return Created.parse(await answer.json()).id;
}

/** Each instance then has the voucher in memory and its rung open. */
async function readOnEveryInstance(
  { baseUrl, shape }: Pick<Lab, 'baseUrl' | 'shape'>,
  voucherId: string,
): Promise<void> {
  const reads = Array.from({ length: shape.instances * 8 }, () =>
    fetch(`${baseUrl}/vouchers/${voucherId}`),
  );
  for (const answer of await Promise.all(reads)) {
    await refuseUnlessOk(answer, 'the reading of a voucher');
    await answer.arrayBuffer();
  }
}

const byOperator = async (
  tokenSecret: string,
  method: 'POST' | 'PATCH',
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<RequestInit> => ({
  method,
  headers: {
    authorization: `Bearer ${await signToken(tokenSecret, '1', 'operator')}`,
    'content-type': 'application/json',
    ...headers,
  },
  body: JSON.stringify(body),
});

/** @throws SERVICE_REFUSED */
async function refuseUnlessOk(answer: Response, what: string): Promise<void> {
  if (!answer.ok) throw labError('SERVICE_REFUSED', what, answer.status, await answer.text());
}

/** Asks for the change once, whatever the answer is. @returns its status; 0: no answer came */
export async function changeOnce(
  { baseUrl, tokenSecret }: Pick<Lab, 'baseUrl' | 'tokenSecret'>,
  voucherId: string,
  edit: VoucherEdit,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const request = await byOperator(tokenSecret, 'PATCH', edit, headers);
  try {
    const answer = await fetch(`${baseUrl}/vouchers/${voucherId}`, request);
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 0;
  }
}

/** It may have begun, or nothing may have happened: the same change is asked for again. */
export const isChangeFinal = (status: number): boolean => status !== 0 && status < 500;

/**
 * Marks these vouchers as ended in MySQL. For a lab that is about to lose their Redis keys, so that
 * `reconcile` does not report them as lost.
 */
export async function endSales(connections: Connections, voucherIds: readonly string[]) {
  const end = 'UPDATE vouchers SET end_time = ? WHERE id IN (?)';
  await connections.mysql().query(end, [new Date(), voucherIds]);
}

/** The servers that a rung needs and that not every lab has. */
export async function provideFor(lab: Pick<Lab, 'provide'>, rung: string): Promise<void> {
  if (rungNamed(rung).queueServer === 'rabbitmq') await lab.provide(['rabbitmq']);
}
