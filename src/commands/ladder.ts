import { ladderRows, ladderText } from '../report/ladder.ts';
import { type Reporting, report } from './place.ts';

export const showLadder = ({ json }: Reporting): void => report(json, ladderRows(), ladderText);
