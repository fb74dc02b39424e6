/**
 * A set of texts that never forgets one, and takes about one in 2,000 others for its own. It needs
 * two bytes for each text, however long it is.
 * Source. B. H. Bloom, Space/time trade-offs in hash coding with allowable errors, 1970; two hashes
 *   for all places: Kirsch and Mitzenmacher, Less hashing, same performance, 2006.
 */
const bitsPerText = 16;
const placesPerText = 8;
/** In a smaller filter the places of a text would be the same too often. */
const textsMin = 64;

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
    return Math.ceil((Math.max(textsMin, count) * bitsPerText) / 8);
  }

  add(text: string): void {
    const [first, step] = [hash(text, firstSeed), stepOf(text)];
    for (let index = 0; index < placesPerText; index++) {
      const place = this.#place(first + index * step);
      const byte = place >>> 3;
      this.#bytes[byte] = (this.#bytes[byte] ?? 0) | (1 << (place & 7));
    }
  }

  /** Each refusal of a voucher that is sold out asks it, so it makes no list of the places. */
  mayHave(text: string): boolean {
    const [first, step] = [hash(text, firstSeed), stepOf(text)];
    for (let index = 0; index < placesPerText; index++) {
      const place = this.#place(first + index * step);
      if (((this.#bytes[place >>> 3] ?? 0) & (1 << (place & 7))) === 0) return false;
    }
    return true;
  }

  #place(sum: number): number {
    return (sum >>> 0) % this.#bits;
  }
}

const firstSeed = 0x811c9dc5;
/** Odd, so that the places of a text differ. */
const stepOf = (text: string): number => hash(text, 0x9e3779b9) | 1;

/** FNV-1a, and a last mix, so that the short numbers of users differ in every bit. */
function hash(text: string, seed: number): number {
  let value = seed;
  for (let index = 0; index < text.length; index++)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  return value ^ (value >>> 13);
}
