/**
 * Results as they come, with a progress line below them on a terminal; plain lines where the output
 * is piped.
 */
import ora from 'ora';

export interface Stream {
  /** How many steps there will be. */
  expect(count: number): void;
  /** The next step begins. */
  next(name: string): void;
  print(text: string): void;
  /** On standard error, also where the results are JSON. */
  note(text: string): void;
  /** One line about the lab. */
  progress(line: string): void;
  stop(): void;
}

/** `silent`: no results, because the caller prints JSON at the end. */
export function openStream(silent: boolean): Stream {
  const spinner = ora({
    stream: process.stderr,
    discardStdin: false,
    isSilent: !process.stderr.isTTY,
  });
  let total = 0;
  let step = 0;
  spinner.start('starting the lab');
  return {
    expect: (count) => {
      total = count;
    },
    next: (name) => {
      step += 1;
      spinner.text = `${step} of ${total}: ${name}`;
    },
    print: (text) => {
      spinner.clear();
      if (!silent) console.log(text);
      spinner.render();
    },
    note: (text) => {
      spinner.clear();
      console.error(text);
      spinner.render();
    },
    progress: (line) => {
      spinner.text = line;
    },
    stop: () => void spinner.stop(),
  };
}
