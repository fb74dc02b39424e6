/**
 * Serialises work by name: the next begins when the one before it is finished, whatever its result.
 */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  async inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name);
    const turn = before ? before.then(work, work) : work();
    this.#last.set(name, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(name) === turn) this.#last.delete(name);
    }
  }
}
