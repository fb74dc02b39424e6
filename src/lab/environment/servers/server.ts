/** The contract of a server of the lab: how to start it, and how to check that it answers. */
import type { Program } from '../processes.ts';

export interface Server {
  readonly name: string;
  readonly port: number;
  /** Creates its folders and files before it starts. */
  readonly prepare?: () => Promise<void>;
  readonly program: () => Program;
  /** True once it answers. */
  readonly answers: () => Promise<boolean>;
}
