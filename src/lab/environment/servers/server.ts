/** What the lab knows about each server: how to start it and how to tell that it is up. */
import type { Program } from '../processes.ts';

export interface Server {
  readonly name: string;
  readonly port: number;
  /** Makes what it needs before its first start. */
  readonly prepare?: () => Promise<void>;
  readonly program: () => Program;
  /** True once it answers. */
  readonly answers: () => Promise<boolean>;
}
