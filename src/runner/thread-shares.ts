/** Divides the threads (`threadBudget` in engine/machine/machine.ts) among busy processes: more busy threads than cores slow all of them. */

export interface ThreadShare {
  busy(isBusy: boolean): void;
  readonly threads: number;
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

  /** Adds a member; `tell` is called when its share changes. A single busy one gets all threads. */
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
      // At least one each, even above the budget: single threads do not wait for others.
      const threads = Math.max(1, each + (rest > 0 ? 1 : 0));
      rest--;
      if (threads === member.threads) continue;
      member.threads = threads;
      member.tell(threads);
    }
  }
}
