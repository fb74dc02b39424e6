/** A client that waits for the states of an order on its stream. */
import { expect, onTestFinished } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { tokenFor } from './client.ts';
import { ownLab } from './own-lab.ts';

export interface Stream {
  readonly answer: Response;
  /** What has arrived. */
  text(): string;
  /** How it ended: in order, or cut off by either side. */
  readonly ended: Promise<'in order' | 'cut off'>;
  /** Closes the connection. */
  leave(): void;
}

export async function openStream(
  orderId: string,
  userId: string,
  { token, baseUrl, headers = {} }: { token?: string; baseUrl?: string; headers?: object } = {},
): Promise<Stream> {
  const client = new AbortController();
  const answer = await fetch(`${baseUrl ?? ownLab.baseUrl}/orders/${orderId}/events`, {
    headers: { authorization: `Bearer ${token ?? (await tokenFor(userId))}`, ...headers },
    signal: client.signal,
  });
  let text = '';
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const part of answer.body ?? []) text += decoder.decode(part, { stream: true });
  };
  const ended = read().then(
    () => 'in order' as const,
    () => 'cut off' as const,
  );
  onTestFinished(() => client.abort());
  return { answer, text: () => text, ended, leave: () => client.abort() };
}

/** The statuses of the events that have arrived. */
export const statuses = ({ text }: Stream): string[] =>
  [...text().matchAll(/^event: status\ndata: (.*)$/gm)].map(
    ([, data = '{}']) => (JSON.parse(data) as { status: string }).status,
  );
export const arrives = (stream: Stream, wanted: readonly string[]) =>
  waitUntil(`the events ${wanted.join(', ')}`, 20_000, () => {
    expect(wanted.slice(0, statuses(stream).length)).toEqual(statuses(stream));
    return statuses(stream).length === wanted.length;
  });
