/** Where a command works, and how it talks: text for people on standard output, progress on standard error. */
export interface Place {
  readonly labFolder: string;
  readonly runsFolder: string;
}

export interface Reporting {
  readonly json: boolean;
}

export const tell = (event: string): void => console.error(event);

export function report(json: boolean, data: unknown, text: () => string): void {
  console.log(json ? JSON.stringify(data, null, 2) : text());
}
