/** The sentences of a run: one for each thing that happened, and what it cost in the end. */
import { costSentences } from '../../lab/report/cost-words.ts';
import { faultWords } from '../../lab/report/fault-words.ts';
import type { RunView, ToldEvent } from './run-model.ts';
import { language, page } from './texts.ts';

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

/** The number of faults, where there was a load, and what each load cost. */
export function costTexts({ verdict }: RunView): string[] {
  const { faults = {}, loads = [] } = verdict ?? {};
  const injected = Object.values(faults).reduce((all, times) => all + times, 0);
  const counted = loads.length > 0 || injected > 0 ? [page.value.faultCount(injected)] : [];
  return [...counted, ...costSentences(loads, language.value)];
}
