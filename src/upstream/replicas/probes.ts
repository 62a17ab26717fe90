/** Asks replicas that are out how they are, in the background: each when its pause is over, one question at a time. */
import { reasonOf } from "../../core/errors.ts";
import type { Clock } from "./clock.ts";
import type { Member } from "./member.ts";
import type { Replica } from "./replica.ts";

/** Asks a replica how it is, such as by its list of models; throws where the answer is not a working server's. */
export type Probe = (replica: Replica, signal: AbortSignal) => Promise<void>;

/** How long an answer may take. */
const timeoutMs = 5000;

export interface ProbesOptions {
  /** Absent: one whose pause is over is tried by a request. */
  probe: Probe | undefined;
  clock: Clock;
  /** It did not answer. */
  onFailed: (member: Member, why: string) => void;
}

export class Probes implements Disposable {
  readonly #options: ProbesOptions;
  /** What ends the waiting, and the asking, for each. */
  readonly #waiting = new Map<Member, Disposable>();

  constructor(options: ProbesOptions) {
    this.#options = options;
  }

  /** Asks it then, unless it is cancelled before. */
  askIn(ms: number, member: Member): void {
    this.cancel(member);
    const timer = this.#options.clock.after(ms, () => void this.#ask(member));
    this.#waiting.set(member, timer);
  }

  /** It answers again, or is no replica any more. */
  cancel(member: Member): void {
    this.#waiting.get(member)?.[Symbol.dispose]();
    this.#waiting.delete(member);
  }

  [Symbol.dispose](): void {
    for (const member of this.#waiting.keys()) this.cancel(member);
  }

  async #ask(member: Member): Promise<void> {
    const { probe, clock, onFailed } = this.#options;
    const asking = new AbortController();
    using _ = clock.after(timeoutMs, () =>
      asking.abort(new Error(`no answer within ${timeoutMs / 1000} s`)),
    );
    const isOver = { [Symbol.dispose]: () => asking.abort() };
    this.#waiting.set(member, isOver);
    const why = await probe?.({ url: member.url }, asking.signal).then(() => undefined, reasonOf);
    // Meanwhile a request was answered, or it was removed.
    if (this.#waiting.get(member) !== isOver) return;
    this.#waiting.delete(member);
    if (why === undefined) member.circuit.tryAgain();
    else onFailed(member, why);
  }
}
