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
  baseUrl: string,
  tokenSecret: string,
  instances: number,
  sale: NewSale,
): Promise<string> {
  const voucherId = await createVoucher(baseUrl, tokenSecret, sale);
  await readOnEveryInstance(baseUrl, voucherId, instances);
  return voucherId;
}

/** @returns the id of a voucher. @throws SERVICE_REFUSED */
export async function createVoucher(
  baseUrl: string,
  tokenSecret: string,
  { beginsInMs = -hourMs, endsInMs = 2 * hourMs, ...sale }: NewSale,
): Promise<string> {
  const token = await signToken(tokenSecret, '1', 'operator');
  const at = (fromNowMs: number) => new Date(Date.now() + fromNowMs).toISOString();
  const answer = await fetch(`${baseUrl}/vouchers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...sale, beginTime: at(beginsInMs), endTime: at(endsInMs) }),
  });
  await refuseUnlessOk(answer, 'the creation of a voucher');
  return Created.parse(await answer.json()).id;
}

/** Each instance then has the voucher in memory and its rung open. */
async function readOnEveryInstance(
  baseUrl: string,
  voucherId: string,
  instances: number,
): Promise<void> {
  const reads = Array.from({ length: instances * 8 }, () =>
    fetch(`${baseUrl}/vouchers/${voucherId}`),
  );
  for (const answer of await Promise.all(reads)) {
    await refuseUnlessOk(answer, 'the reading of a voucher');
    await answer.arrayBuffer();
  }
}

/** @throws SERVICE_REFUSED */
async function refuseUnlessOk(answer: Response, what: string): Promise<void> {
  if (!answer.ok) throw labError('SERVICE_REFUSED', what, answer.status, await answer.text());
}

/** 0: no answer came. */
export type ChangeStatus = number;

/** Asks for the change once, whatever the answer is. */
export async function changeOnce(
  { baseUrl, tokenSecret }: Pick<Lab, 'baseUrl' | 'tokenSecret'>,
  voucherId: string,
  edit: VoucherEdit,
  headers: Readonly<Record<string, string>> = {},
): Promise<ChangeStatus> {
  const token = await signToken(tokenSecret, '1', 'operator');
  try {
    const answer = await fetch(`${baseUrl}/vouchers/${voucherId}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(edit),
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 0;
  }
}

/** It may have begun, or nothing may have happened: the same change is asked for again. */
export const isChangeFinal = (status: ChangeStatus): boolean => status !== 0 && status < 500;

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
