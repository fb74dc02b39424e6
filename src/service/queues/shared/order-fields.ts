/** An order as the fields of a stream entry, and back. */
import { isId, type Order } from '../../domain.ts';

/** What MySQL can store: a field that it would refuse makes the entry a poison message. */
const forms = {
  id: { name: 'orderId', isRight: isId, form: 'an id' },
  voucherId: { name: 'voucherId', isRight: isId, form: 'an id' },
  userId: { name: 'userId', isRight: isId, form: 'an id' },
  requestId: {
    name: 'requestId',
    isRight: (text: string) => /^[!-~]{1,64}$/.test(text),
    form: '1 to 64 visible ASCII characters',
  },
} as const;
const parts = ['id', 'voucherId', 'userId', 'requestId'] as const;

export const asFields = (order: Order): string[] =>
  parts.flatMap((part) => [forms[part].name, order[part]]);

/** @returns the order, or the cause why these fields are none. */
export function readOrder(fields: readonly string[]): Order | { readonly cause: string } {
  for (const part of parts) {
    const { name, isRight, form } = forms[part];
    const text = fieldOf(fields, name);
    if (text === undefined) return { cause: `${name} is missing` };
    if (!isRight(text)) return { cause: `${name} is not ${form}` };
  }
  const [id = '', voucherId = '', userId = '', requestId = ''] = parts.map((part) =>
    fieldOf(fields, forms[part].name),
  );
  return { id, voucherId, userId, requestId };
}

/** Of an entry of the stream. A part that is no order is left out. */
export const ordersOfEntry = (fields: readonly string[]): Order[] =>
  orderParts(fields)
    .map(readOrder)
    .filter((read): read is Order => !('cause' in read));

export function fieldOf(fields: readonly string[], name: string): string | undefined {
  const index = fields.findIndex((each, at) => at % 2 === 0 && each === name);
  return index < 0 ? undefined : fields[index + 1];
}

/**
 * The sale writes the orders of one call into one entry: the fields of each, one after the other. A
 * part begins with the order id, and has each field once: it never gets a field of its neighbour.
 */
export function orderParts(fields: readonly string[]): (readonly string[])[] {
  const parts: string[][] = [];
  for (let at = 0; at < fields.length; at += 2) {
    const [name = '', value = ''] = fields.slice(at, at + 2);
    const part = parts.at(-1);
    const isNext = name === forms.id.name || (part && fieldOf(part, name) !== undefined);
    if (part && !isNext) part.push(name, value);
    else parts.push([name, value]);
  }
  return parts;
}
