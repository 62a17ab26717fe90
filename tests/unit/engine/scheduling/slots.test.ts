import { describe, expect, test } from "bun:test";
import type { Token } from "node-llama-cpp";
import { nextTurn } from "../../../../src/core/turns.ts";
import { type CachedSequence, KvCache } from "../../../../src/engine/scheduling/kv-cache.ts";
import { type Slot, Slots } from "../../../../src/engine/scheduling/slots.ts";
import { fakeClock } from "../../../support/fake-clock.ts";
import { promptOf, ScriptedContext } from "../../../support/scripted-context.ts";

const { signal } = new AbortController();

function setUp(sequences = 8, batchSize = 64) {
  const context = new ScriptedContext({ sequences, batchSize });
  const cache = new KvCache(context);
  const clock = fakeClock();
  const slots = new Slots(cache, 16, clock);
  const take = (
    prompt: Token[],
    { fresh = false, isScored = false, scope = "" } = {},
  ): Promise<Slot> => slots.acquire({ prompt, fresh, isScored, scope }, { signal });
  /** As the scheduler does when a prompt is evaluated. */
  const hold = ({ sequence }: Slot, prompt: Token[], scope = ""): void => {
    sequence.tokens.splice(0, sequence.tokens.length, ...prompt);
    sequence.scope = scope;
  };
  return { context, cache, clock, slots, take, hold };
}

/** Prompts begin alike, as a chat template makes them. */
const chat = (length: number, first: number): Token[] => [
  ...promptOf(2, 1),
  ...promptOf(length - 2, first),
];

const idOf = ({ sequence }: { sequence: CachedSequence }): number => sequence.id;

/** Every slot is used once by a conversation of its own, in order. */
async function useAll({ take, hold }: ReturnType<typeof setUp>, count: number): Promise<void> {
  const used: Slot[] = [];
  for (let at = 0; at < count; at++) {
    const slot = await take(chat(80, 1000 * (at + 1)));
    hold(slot, chat(80, 1000 * (at + 1)));
    used.push(slot);
  }
  for (const slot of used) slot[Symbol.dispose]();
}

describe("slots", () => {
  test("that are busy lie side by side", async () => {
    const { take } = setUp();
    const busy = [];
    for (let at = 0; at < 4; at++) busy.push(await take(chat(30, 1000 * (at + 1))));
    expect(busy.map(idOf)).toEqual([0, 1, 2, 3]);
  });

  test("that are busy lie side by side also when all were used, and what is moved stays cached", async () => {
    const all = setUp(4);
    const { take, cache } = all;
    await useAll(all, 4);
    // The conversation of slot 2 goes on there; a new one is to be beside it.
    const goingOn = await take(chat(90, 3000));
    const beside = await take(chat(80, 9000));
    expect([idOf(goingOn), idOf(beside)]).toEqual([2, 1]);
    // Slot 0 was unused for longest: it takes over what slot 1 holds.
    const target = beside.evictionTarget();
    expect(target?.id).toBe(0);
    if (target === undefined) throw new Error("no eviction target");
    await cache.copyTo(target, beside.sequence);
    expect(target.tokens).toEqual(chat(80, 2000));
    // The conversation that was in slot 1 goes on where it is now.
    expect(idOf(await take(chat(90, 2000)))).toBe(0);
  });

  test("evict to a sequence that nobody has taken since", async () => {
    const all = setUp(4);
    await useAll(all, 4);
    await all.take(chat(90, 3000));
    const beside = await all.take(chat(80, 9000));
    // Slot 0, unused for longest, is used by somebody and comes back with a newer conversation.
    const other = await all.take(chat(90, 1000));
    expect(idOf(other)).toBe(0);
    other[Symbol.dispose]();
    expect(beside.evictionTarget()).toBeUndefined();
  });

  test("keep a conversation where it is when it goes on", async () => {
    const all = setUp(4);
    await useAll(all, 4);
    const slot = await all.take(chat(90, 4000));
    expect([idOf(slot), slot.evictionTarget()]).toEqual([3, undefined]);
  });

  test("share nothing between scopes", async () => {
    const { take, hold } = setUp(2);
    const prompt = promptOf(50);
    const ada = await take(prompt, { scope: "ada" });
    hold(ada, prompt, "ada");
    const bob = await take(prompt, { scope: "bob" });
    expect(bob.source).toBeUndefined();
    bob[Symbol.dispose]();
    const again = await take(prompt, { scope: "ada" });
    expect(again.source?.sequence).toBe(ada.sequence);
  });

  test("wait for a prefix that another is evaluating where it is long for a step", async () => {
    for (const [batchSize, waits] of [
      [512, true],
      [2048, false],
    ] as const) {
      const { take, hold } = setUp(8, batchSize);
      const alike = promptOf(30, 1);
      const first = await take([...alike, ...promptOf(40, 1000)]);
      const second = await take([...alike, ...promptOf(40, 2000)]);
      expect(second.source?.sequence).toBe(waits ? first.sequence : undefined);
      expect(second.source?.pending()).toBe(waits ? true : undefined);
      hold(first, [...alike, ...promptOf(40, 1000)]);
      first.prefillDone();
      const later = await take([...alike, ...promptOf(40, 3000)]);
      expect(later.source?.sequence).toBe(first.sequence);
    }
  });
});

describe("a prefix that another is evaluating", () => {
  const alike = promptOf(40, 1);
  const long = (first: number): Token[] => [...alike, ...promptOf(400, first)];
  const short = (first: number): Token[] => [...alike, ...promptOf(40, first)];

  test("is not awaited by a short prompt where that one is long, and has its turn later", async () => {
    const { take, hold } = setUp(8, 512);
    const first = await take(long(1000));
    expect((await take(long(2000))).source?.sequence).toBe(first.sequence);
    expect((await take(short(3000))).source).toBeUndefined();
    hold(first, long(1000));
    expect((await take(short(4000))).source?.sequence).toBe(first.sequence);
  });

  test("is not awaited where that one is scored, which takes longer", async () => {
    const { take, hold } = setUp(8, 512);
    const first = await take(long(1000), { isScored: true });
    const second = await take(long(2000));
    expect(second.source).toBeUndefined();
    second[Symbol.dispose]();
    hold(first, long(1000));
    expect((await take(long(3000))).source?.sequence).toBe(first.sequence);
    await take(long(4000), { isScored: true, fresh: true });
    expect((await take(long(4000), { fresh: true })).source).toBeUndefined();
  });

  test("is not awaited where that one has a seed, and so its steps in turn with others", async () => {
    const { take, hold } = setUp(8, 512);
    const first = await take(long(1000), { fresh: true });
    expect((await take(long(2000))).source).toBeUndefined();
    hold(first, long(1000));
    expect((await take(long(3000))).source?.sequence).toBe(first.sequence);
  });

  test("is not awaited for little more than can be copied now, or by what little is left then", async () => {
    const { take, hold } = setUp(8, 512);
    const system = promptOf(400, 5000);
    const asked = (alike: number, rest: number): Token[] => [
      ...system,
      ...promptOf(alike, 6000),
      ...promptOf(rest, 7000 + rest),
    ];
    const document = await take(asked(20, 500));
    hold(document, system);
    const sources = [];
    for (const [alike, rest] of [
      [20, 30],
      [15, 300],
      [20, 301],
    ] as const) {
      const { source } = await take(asked(alike, rest));
      sources.push([source?.sequence.id, source?.shared, source?.pending()]);
      expect(source?.meanwhile?.shared).toBe(source?.shared === 420 ? 400 : undefined);
    }
    const { id } = document.sequence;
    expect(sources).toEqual([
      [id, 400, false],
      [id, 400, false],
      [id, 420, true],
    ]);
  });
});

describe("of several callers", () => {
  /** Who has slots, by the order in which they got them. */
  function callersOf(sequences: number) {
    const { slots, clock } = setUp(sequences);
    const got: string[] = [];
    const request = { prompt: promptOf(10), fresh: false, scope: undefined };
    const ask = async (caller: string, leaving = signal): Promise<Slot> => {
      const slot = await slots.acquire(request, { signal: leaving, caller });
      got.push(caller);
      return slot;
    };
    const visit = async (caller: string): Promise<void> => {
      (await ask(caller))[Symbol.dispose]();
      got.pop();
    };
    return { slots, got, ask, visit, pass: (ms: number) => clock.pass(ms) };
  }

  const minute = 60_000;

  test("one that is alone gets all slots", async () => {
    const { got, ask } = callersOf(3);
    for (const caller of ["ada", "ada", "ada"]) await ask(caller);
    expect(got).toEqual(["ada", "ada", "ada"]);
  });

  test("the only slot is anybody's", async () => {
    const { got, ask, visit } = callersOf(1);
    await visit("bob");
    await ask("ada");
    expect(got).toEqual(["ada"]);
  });

  test("none gets the last free slot beside all its others, for a minute after another had one", async () => {
    const { got, ask, visit, pass } = callersOf(3);
    await visit("bob");
    for (let count = 0; count < 3; count++) void ask("ada");
    await nextTurn();
    expect(got).toEqual(["ada", "ada"]);
    await visit("bob");
    await pass(minute - 1);
    expect(got).toEqual(["ada", "ada"]);
    await pass(1);
    expect(got).toEqual(["ada", "ada", "ada"]);
  });

  test("another's long answer counts until its end", async () => {
    const { got, ask, pass } = callersOf(2);
    const long = await ask("bob");
    for (let count = 0; count < 2; count++) void ask("ada");
    await pass(10 * minute);
    long[Symbol.dispose]();
    await nextTurn();
    expect(got).toEqual(["bob", "ada"]);
    await pass(minute);
    expect(got).toEqual(["bob", "ada", "ada"]);
  });

  test("requests that wait for that hold up nobody behind them", async () => {
    const { got, ask, visit } = callersOf(3);
    await visit("bob");
    const first = await ask("ada");
    for (let count = 0; count < 3; count++) void ask("ada");
    const bob = await ask("bob");
    void ask("eve");
    expect(got).toEqual(["ada", "ada", "bob"]);
    first[Symbol.dispose]();
    await nextTurn();
    bob[Symbol.dispose]();
    await nextTurn();
    expect(got).toEqual(["ada", "ada", "bob", "ada", "eve"]);
  });

  test("one that waits for that gets its own slot as soon as that is free", async () => {
    const { got, ask, visit } = callersOf(2);
    await visit("bob");
    const first = await ask("ada");
    void ask("ada");
    await nextTurn();
    expect(got).toEqual(["ada"]);
    first[Symbol.dispose]();
    await nextTurn();
    expect(got).toEqual(["ada", "ada"]);
  });

  test("one that leaves while it waits for that gets no slot", async () => {
    const { got, ask, visit, pass } = callersOf(2);
    await visit("bob");
    await ask("ada");
    const leaving = new AbortController();
    const left = ask("ada", leaving.signal).catch((error: unknown) => error);
    leaving.abort(new Error("gone"));
    expect(await left).toMatchObject({ message: "gone" });
    await pass(minute);
    expect(got).toEqual(["ada"]);
    await ask("ada");
    expect(got).toEqual(["ada", "ada"]);
  });

  test("those that wait for that take places of the queue", async () => {
    const { slots, ask, visit } = callersOf(2);
    await visit("bob");
    await ask("ada");
    for (let count = 0; count < 16; count++) void ask("ada");
    expect(() => slots.checkQueue("ada")).toThrow("The node is busy");
    expect(() => slots.checkQueue("bob")).not.toThrow();
  });
});
