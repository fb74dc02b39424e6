/** What this browser keeps. A file from the disk may not have a store: then nothing is kept. */

export function kept(name: string): string | null {
  try {
    return localStorage.getItem(`lockstep-${name}`);
  } catch {
    return null;
  }
}

export function keep(name: string, text: string): void {
  try {
    localStorage.setItem(`lockstep-${name}`, text);
  } catch {
    // Then it is known until the page is closed.
  }
}
