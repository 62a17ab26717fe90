/** A part of a collection that is searched on its own: consecutive passages with their words, and their vectors in a byte a number. */
import { toVector } from "./collection-file.ts";
import { exactScan, type Neighbour } from "./usearch-index.ts";

/** A passage's place in its part times 256, plus how often it has the word, at most 255. */
export type Postings = ArrayLike<number>;

/** `mask` has 1 at the place of each passage that may be found, `count` of them. */
export interface Chosen {
  mask: Uint8Array;
  count: number;
}

export abstract class Part {
  /** Ascending. */
  readonly keys: Float64Array;
  /** Words of each passage. */
  readonly lengths: Uint16Array;
  /** Those that were not removed, and all of their words. */
  readonly live: Chosen;
  tokens = 0;
  count = 0;

  constructor(keys: Float64Array, lengths: Uint16Array) {
    this.keys = keys;
    this.lengths = lengths;
    this.live = { mask: new Uint8Array(keys.length), count: 0 };
  }

  abstract postings(term: string): Postings | undefined;
  /** Passages with the word, removed ones too; known without reading where. */
  abstract frequency(term: string): number;
  /** The nearest of the chosen passages; approximately. */
  abstract nearest(question: Int8Array, count: number, chosen: Chosen): Neighbour[];

  get lastKey(): number {
    return this.keys[this.count - 1] ?? 0;
  }

  /** Undefined if the part does not hold it. */
  placeOf(key: number): number | undefined {
    // Without removals before it, a part's keys have no gaps.
    const guess = key - (this.keys[0] ?? 0);
    if (guess >= 0 && guess < this.count && this.keys[guess] === key) return guess;
    let [from, to] = [0, this.count];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.keys[middle] ?? 0) < key) from = middle + 1;
      else to = middle;
    }
    return from < this.count && this.keys[from] === key ? from : undefined;
  }

  remove(key: number): void {
    const place = this.placeOf(key);
    if (place === undefined || this.live.mask[place] === 0) return;
    this.live.mask[place] = 0;
    this.live.count--;
    this.tokens -= this.lengths[place] ?? 0;
  }
}

/** Without what is not searched for. */
export interface PartRow {
  key: number;
  terms: string | null;
  vector: Uint8Array | null;
}

/** A part that grows in memory: the passages that no segment has yet, and a segment before it is written. */
export class GrowingPart extends Part {
  readonly words = new Map<string, number[]>();
  readonly vectors: Int8Array;
  readonly #dimension: number;

  constructor(dimension: number, capacity: number) {
    super(new Float64Array(capacity), new Uint16Array(capacity));
    this.vectors = new Int8Array(capacity * dimension);
    this.#dimension = dimension;
  }

  get isFull(): boolean {
    return this.count === this.keys.length;
  }

  /** Keys ascend. */
  add({ key, terms, vector }: PartRow): void {
    const place = this.count++;
    const words = terms === null || terms === "" ? [] : terms.split(" ");
    this.keys[place] = key;
    this.lengths[place] = Math.min(words.length, 0xffff);
    this.live.mask[place] = 1;
    this.live.count++;
    this.tokens += this.lengths[place] ?? 0;
    for (const word of words) this.#note(word, place << 8);
    if (vector === null) return;
    const start = place * this.#dimension;
    quantize(toVector(vector), this.vectors.subarray(start, start + this.#dimension));
  }

  postings(term: string): Postings | undefined {
    return this.words.get(term);
  }

  frequency(term: string): number {
    return this.words.get(term)?.length ?? 0;
  }

  /** Another part has these by now. */
  removeUpTo(last: number): void {
    for (let place = 0; (this.keys[place] ?? 0) <= last && place < this.count; place++) {
      this.remove(this.keys[place] ?? 0);
    }
  }

  nearest(question: Int8Array, count: number, chosen: Chosen): Neighbour[] {
    return scan(this.vectors.subarray(0, this.count * this.#dimension), question, count, chosen);
  }

  #note(word: string, place: number): void {
    const postings = this.words.get(word);
    if (postings === undefined) {
      this.words.set(word, [place + 1]);
      return;
    }
    const last = postings[postings.length - 1] ?? 0;
    if (last >> 8 !== place >> 8) postings.push(place + 1);
    else if ((last & 0xff) < 0xff) postings[postings.length - 1] = last + 1;
  }
}

/** Compares the chosen vectors of a matrix that begins where its buffer does. */
export function scan(
  matrix: Int8Array,
  question: Int8Array,
  count: number,
  chosen: Chosen,
): Neighbour[] {
  if (chosen.count === 0) return [];
  if (chosen.count * question.length === matrix.length) return exactScan(matrix, question, count);
  const places = new Uint32Array(chosen.count);
  let found = 0;
  for (let at = chosen.mask.indexOf(1); at !== -1; at = chosen.mask.indexOf(1, at + 1)) {
    places[found++] = at;
  }
  return compare(matrix, question, count, places);
}

/** Where vectors are copied to be compared; used by one comparison at a time. */
let scratch = new Int8Array(0);

/** Compares the vectors at some places, which ascend. */
function compare(
  matrix: Int8Array,
  question: Int8Array,
  count: number,
  places: Uint32Array,
): Neighbour[] {
  const dimension = question.length;
  const size = places.length * dimension;
  if (scratch.length < size) scratch = new Int8Array(size);
  const gathered = scratch.subarray(0, size);
  for (let at = 0, end = 1; at < places.length; at = end++) {
    const first = places[at] ?? 0;
    // Neighbours are copied together.
    while (places[end] === first + end - at) end++;
    const rows = matrix.subarray(first * dimension, (first + end - at) * dimension);
    gathered.set(rows, at * dimension);
  }
  const found = exactScan(gathered, question, count);
  return found.map(({ place, ...how }) => ({ ...how, place: places[place] ?? 0 }));
}

/** A number of a unit vector is multiplied by this: those of five times the usual size still fit into a byte. */
export const scaleOf = (dimension: number): number =>
  Math.round(largest * Math.max(1, Math.sqrt(dimension) / 5));

const largest = 127;

/** To candidates this is precise enough: the rows' own vectors decide between them. */
export function quantize(
  vector: Float32Array,
  bytes: Int8Array = new Int8Array(vector.length),
): Int8Array {
  const scale = scaleOf(vector.length);
  for (let at = 0; at < vector.length; at++) {
    const number = (vector[at] ?? 0) * scale;
    const rounded = number < 0 ? number - 0.5 : number + 0.5;
    // The array cuts off what is behind the point.
    bytes[at] = Math.max(-largest, Math.min(largest, rounded));
  }
  return bytes;
}
