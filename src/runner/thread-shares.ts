/**
 * One budget of threads for several processes: those at work share it. More busy threads than cores
 * would cost each of them many times what it lost.
 */

export interface ThreadShare {
  /** Says whether the process has work. */
  busy(isBusy: boolean): void;
  /** How many threads it may use now. */
  readonly threads: number;
  /** Leaves the others its part. */
  leave(): void;
}

interface Member {
  isBusy: boolean;
  threads: number;
  tell: (threads: number) => void;
}

export class ThreadShares {
  readonly #budget: number;
  readonly #members = new Set<Member>();

  constructor(budget: number) {
    this.#budget = budget;
  }

  /** A new member, told whenever its part changes; while it is alone at work it has all of them. */
  join(tell: (threads: number) => void): ThreadShare {
    const member: Member = { isBusy: false, threads: this.#budget, tell };
    this.#members.add(member);
    return {
      busy: (isBusy) => {
        if (member.isBusy === isBusy) return;
        member.isBusy = isBusy;
        this.#divide();
      },
      get threads() {
        return member.threads;
      },
      leave: () => {
        this.#members.delete(member);
        this.#divide();
      },
    };
  }

  #divide(): void {
    const busy = [...this.#members].filter(({ isBusy }) => isBusy);
    const each = Math.floor(this.#budget / Math.max(1, busy.length));
    let rest = this.#budget - each * busy.length;
    for (const member of busy) {
      // One thread runs by itself and waits for no other: even too many of those only take turns.
      const threads = Math.max(1, each + (rest > 0 ? 1 : 0));
      rest--;
      if (threads === member.threads) continue;
      member.threads = threads;
      member.tell(threads);
    }
  }
}
