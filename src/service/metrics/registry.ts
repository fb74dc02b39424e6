/** The metrics of this process. */
import { Registry } from '@prometheus-io/client';

export const registry = new Registry();
export const registers = [registry];
