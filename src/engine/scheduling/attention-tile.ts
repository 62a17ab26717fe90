/**
 * Attention computes the tokens of a prompt in tiles where it can. A rest that fills none is computed token by
 * token: a few tokens beside a long context may take longer than a whole tile. So a little of what the cache
 * holds is evaluated again where that was seen to be sooner.
 */

/** How many times as many tokens may be evaluated. */
const mostWider = 2;
/** What was measured long ago may be wrong: every so many times a rest is evaluated as it is. */
const triedAgain = 16;

export interface EvaluatedPart {
  tokens: number;
  /** What the sequence held before. */
  past: number;
  ms: number;
}

export class AttentionTile {
  readonly #size: number;
  readonly #less = new TokenTime();
  readonly #whole = new TokenTime();
  #widened = 0;

  /** `size`: tokens of a tile; 1: there are none. */
  constructor(size: number) {
    this.#size = size;
  }

  /** How many of the first tokens of a prompt to reuse, if so many are held. */
  reused(held: number, prompt: number): number {
    const rest = prompt - held;
    const size = this.#size;
    if (rest >= size || rest * mostWider < size || prompt < size) return held;
    const asItIs = rest * this.#less.beside(held + rest / 2);
    const wider = size * this.#whole.beside(prompt - size / 2);
    // Of what was not measured yet, the time is not a number.
    if (!(wider < asItIs)) return held;
    this.#widened++;
    return this.#widened % triedAgain === 0 ? held : prompt - size;
  }

  /** A step with nothing but this. */
  took({ tokens, past, ms }: EvaluatedPart): void {
    if (tokens * mostWider < this.#size) return;
    const time = tokens < this.#size ? this.#less : this.#whole;
    time.add(past + tokens / 2, ms / tokens);
  }
}

/** Of a sum: what the measurements before the last one count. */
const decay = 0.9;
/** One that took more than this many times as long, for example since the machine was busy, counts as this. */
const mostLonger = 4;

/** What a token takes: a line over the tokens before it, fitted to the last measurements. */
class TokenTime {
  #count = 0;
  #tokens = 0;
  #ms = 0;
  #squares = 0;
  #products = 0;

  add(tokens: number, measuredMs: number): void {
    const most = this.#count === 0 ? measuredMs : mostLonger * this.beside(tokens);
    const ms = Math.min(measuredMs, most);
    this.#count = decay * this.#count + 1;
    this.#tokens = decay * this.#tokens + tokens;
    this.#ms = decay * this.#ms + ms;
    this.#squares = decay * this.#squares + tokens ** 2;
    this.#products = decay * this.#products + tokens * ms;
  }

  beside(tokens: number): number {
    const [mean, meanMs] = [this.#tokens / this.#count, this.#ms / this.#count];
    const spread = this.#squares / this.#count - mean ** 2;
    const slope = (this.#products / this.#count - mean * meanMs) / spread;
    // Measurements beside about as many tokens tell no slope.
    return meanMs + (spread > mean ** 2 / 100 ? Math.max(0, slope) * (tokens - mean) : 0);
  }
}
