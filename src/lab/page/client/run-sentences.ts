/** The sentences of a run: one for each thing that happened, and what it cost in the end. */
import { faultWords } from '../../report/fault-words.ts';
import { refusedIn, type Second } from '../../stage/seconds.ts';
import type { RunView, ToldEvent } from './run-model.ts';
import { page } from './texts.ts';

export function toldSentence(event: ToldEvent): string {
  const { told } = page.value;
  switch (event.kind) {
    case 'service':
      return told.service(event.instances, event.network);
    case 'on-sale':
      return told.onSale(event.rung, event.stock);
    case 'load-started':
      return told.loadStarted(event.name);
    case 'load-ended':
      return told.loadEnded(event.name);
    case 'fault':
      return told.fault(event.name);
    case 'healed':
      return told.healed(event.name, faultWords(event.name));
    default:
      return event.text;
  }
}

/** What it cost, as far as the seconds tell. */
export function costText({ seconds, verdict }: RunView): string {
  const sum = (count: (second: Second) => number) =>
    seconds.reduce((all, each) => all + count(each), 0);
  const faults = Object.values(verdict?.faults ?? {}).reduce((all, times) => all + times, 0);
  return page.value.cost({
    ...{ faults, hasLoad: seconds.length > 0, gapMs: verdict?.longestGapMs ?? 0 },
    ...{ accepted: sum(({ accepted }) => accepted), refused: sum(refusedIn) },
    unknown: sum(({ unknown }) => unknown),
  });
}
