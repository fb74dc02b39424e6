import { Argument } from 'commander';
import { pino } from 'pino';
import type { Connections } from '../connections/connections.ts';
import { isId } from '../domain.ts';
import { Lab } from '../lab/environment/lab.ts';
import { withConnections, withDeployment } from '../lab/environment/lab-connections.ts';
import { LabDown, LetterIdMissing } from '../lab/errors.ts';
import { wrap } from '../lab/report/wrap.ts';
import { openOrderIds } from '../order-ids/open-order-ids.ts';
import { findOrder } from '../orders/find-order.ts';
import { type DeadLetter, discardLetter, findLetter, listLetters } from '../orders/letters.ts';
import { replayLetter } from '../orders/replay-letter.ts';
import { json, whole } from './options.ts';
import { type AddCommand, type JsonOption, type Place, print } from './output.ts';

const acts = ['list', 'show', 'replay', 'discard'] as const;
type Act = (typeof acts)[number];

interface DeadLettersOptions extends JsonOption {
  readonly most: number;
  readonly deployment: boolean;
}

export const addDeadLetters: AddCommand = (program, place) =>
  program
    .command('dead-letters')
    .description('orders that could not be recorded: list, show, replay (sell it again) or discard')
    .addArgument(new Argument('<act>', 'what to do').choices(acts))
    .argument('[letter]', 'its id, from the list; list needs none')
    .option('--most <n>', 'how many to list, the oldest first', whole(1, 10_000), 100)
    .option('--deployment', 'of the service in the environment (MYSQL_URL, …), not the lab', false)
    .addOption(json())
    .action((act: Act, letter: string | undefined, options: DeadLettersOptions) =>
      deadLetters(place, act, letter, options),
    );

async function deadLetters(
  { labFolder }: Place,
  act: Act,
  letter: string | undefined,
  options: DeadLettersOptions,
): Promise<void> {
  if (act !== 'list' && letter === undefined) throw new LetterIdMissing(act);
  const work = (connections: Connections) => perform[act](connections, letter ?? '', options);
  if (options.deployment) return withDeployment(work);
  const lab = Lab.running(labFolder);
  if (!lab) throw new LabDown();
  return withConnections(lab, work);
}

type Perform = (
  connections: Connections,
  letter: string,
  options: DeadLettersOptions,
) => Promise<void>;

const perform: Readonly<Record<Act, Perform>> = { list, show, replay, discard };

async function list(
  connections: Connections,
  _: string,
  { most, json }: DeadLettersOptions,
): Promise<void> {
  const { letters, total } = await listLetters(connections, most);
  print(json, { total, letters }, () => {
    if (total === 0) return 'There are no dead letters.';
    const count = `${letters.length} of ${total} dead letters, the oldest first`;
    return [count, ...letters.map(summary)].join('\n\n');
  });
}

async function show(connections: Connections, id: string, { json }: JsonOption): Promise<void> {
  const letter = await findLetter(connections, id);
  const order = await statusOf(connections, letter.orderId);
  const replayed = await statusOf(connections, letter.replayedAs);
  print(json, { ...letter, order, replayed }, () =>
    [
      `${summary(letter)}${letter.cause ? `\n  malformed: ${letter.cause}` : ''}`,
      `order ${letter.orderId ?? '-'}: ${order}`,
      ...(letter.replayedAs ? [`order ${letter.replayedAs}, of the replay: ${replayed}`] : []),
      'Its entry:',
      ...pairs(letter.entry).map(([name, value]) => `  ${plain(name)}=${plain(value)}`),
    ].join('\n'),
  );
}

async function replay(connections: Connections, id: string, { json }: JsonOption): Promise<void> {
  const orderIds = await openOrderIds(connections, pino({ level: 'silent' }));
  try {
    const { orderId, isFirst } = await replayLetter(connections, orderIds, id);
    const done = isFirst ? 'is replayed' : 'was replayed before';
    print(json, { letter: id, orderId, isFirst }, () =>
      wrap(`Letter ${id} ${done}: order ${orderId}. When that is confirmed, discard the letter.`),
    );
  } finally {
    orderIds.close();
  }
}

async function discard(connections: Connections, id: string, { json }: JsonOption): Promise<void> {
  const letter = await discardLetter(connections, id);
  print(json, letter, () => `Discarded:\n\n${summary(letter)}\n  ${JSON.stringify(letter.entry)}`);
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
  return lines.map((line) => wrap(line)).join('\n');
}

/** A damaged entry may have characters that change a terminal. */
const plain = (text: string): string => JSON.stringify(text).slice(1, -1);

const pairs = (fields: readonly string[]): [name: string, value: string][] =>
  Array.from({ length: Math.ceil(fields.length / 2) }, (_, index) => [
    fields[2 * index] ?? '',
    fields[2 * index + 1] ?? '',
  ]);
