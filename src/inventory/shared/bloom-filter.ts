/**
 * A set of texts that never forgets one, and takes about one in 2,000 others for its own. It needs
 * two bytes for each text, however long it is.
 * Source. B. H. Bloom, Space/time trade-offs in hash coding with allowable errors, 1970; two hashes
 *   for all places: Kirsch and Mitzenmacher, Less hashing, same performance, 2006.
 */
const bitsPerText = 16;
const placesPerText = 8;
/** In a smaller filter the places of a text would be the same too often. */
const fewestTexts = 64;

export class BloomFilter {
  readonly #bits: number;
  readonly #bytes: Uint8Array;

  /** @param count of the texts that it has room for; with more of them it errs more often. */
  constructor(count: number) {
    const size = BloomFilter.bytesFor(count);
    this.#bits = size * 8;
    this.#bytes = new Uint8Array(size);
  }

  static bytesFor(count: number): number {
    return Math.ceil((Math.max(fewestTexts, count) * bitsPerText) / 8);
  }

  add(text: string): void {
    for (const place of this.#placesOf(text)) {
      const byte = place >>> 3;
      this.#bytes[byte] = (this.#bytes[byte] ?? 0) | (1 << (place & 7));
    }
  }

  mayHave(text: string): boolean {
    return this.#placesOf(text).every(
      (place) => ((this.#bytes[place >>> 3] ?? 0) & (1 << (place & 7))) !== 0,
    );
  }

  #placesOf(text: string): number[] {
    const first = hash(text, 0x811c9dc5);
    const step = hash(text, 0x9e3779b9) | 1;
    return Array.from(
      { length: placesPerText },
      (_, index) => ((first + index * step) >>> 0) % this.#bits,
    );
  }
}

/** FNV-1a, and a last mix, so that the short numbers of users differ in every bit. */
function hash(text: string, seed: number): number {
  let value = seed;
  for (let index = 0; index < text.length; index++)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  return value ^ (value >>> 13);
}
