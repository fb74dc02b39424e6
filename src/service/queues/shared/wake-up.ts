/** Lets a consumer wait for an arrival, for a limited time. */
export class WakeUp {
  #wake = () => {};

  /** Something has arrived. Without a wait it does nothing. */
  wake(): void {
    this.#wake();
  }

  /** Resolves at the next arrival, or after this time. */
  wait(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
