/** Contenders take turns, run by run, so that what disturbs the machine hits all of them. */
import type { Figures } from "./report.ts";
import { measured } from "./statistics.ts";

/** Who is measured: the node always, the others where they are there. Of the peer as it comes and the tuned one, the better counts. */
export interface Contenders<Contender> {
  node: Contender;
  peer?: Contender;
  tuned?: Contender;
  floor?: Contender;
}

export const mapContenders = <From, To>(
  { node, peer, tuned, floor }: Contenders<From>,
  make: (from: From) => To,
): Contenders<To> => ({
  node: make(node),
  ...(peer !== undefined && { peer: make(peer) }),
  ...(tuned !== undefined && { tuned: make(tuned) }),
  ...(floor !== undefined && { floor: make(floor) }),
});

export interface Turns<Contender, Work> {
  contenders: Contenders<Contender>;
  runs: number;
  /** Work that nobody has seen, made once a run: everybody gets the same. */
  prepare: () => Work;
  /** The figure of one contender in one run. */
  measure: (contender: Contender, work: Work) => Promise<number>;
  /** Whether the smaller figure is the better one; default: false. */
  isTime?: boolean;
}

/** For about so long after its last token llama-server's threads spin, in the hope of more work. */
const settleMs = 500;

/** Only one is busy at a time, and each of them is first in its share of the runs. */
export async function takeTurns<Contender, Work>({
  contenders: { node, peer, tuned, floor },
  runs,
  prepare,
  measure,
  isTime = false,
}: Turns<Contender, Work>): Promise<Figures> {
  const entrants = [node, peer, tuned, floor].flatMap((contender) =>
    contender === undefined ? [] : [{ contender, figures: [] as number[] }],
  );
  for (let run = 0; run < runs; run++) {
    const work = prepare();
    const first = run % entrants.length;
    for (const { contender, figures } of [...entrants.slice(first), ...entrants.slice(0, first)]) {
      await Bun.sleep(settleMs);
      figures.push(await measure(contender, work));
    }
  }
  const figuresOf = (of: Contender | undefined): number[] | undefined =>
    entrants.find(({ contender }) => contender === of)?.figures;
  const [plain, better, bare] = [figuresOf(peer), figuresOf(tuned), figuresOf(floor)];
  const isTuned = better && plain && isTime === measured(better).median < measured(plain).median;
  const theirs = isTuned === true ? better : plain;
  return {
    node: figuresOf(node) ?? [],
    ...(theirs && { peer: theirs }),
    ...(bare && { floor: bare }),
  };
}
