import { describe, expect, spyOn, test } from "bun:test";
import { CountedTurns } from "../../../support/counted-turns.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { keptResponse, testResponses } from "../../../support/test-responses.ts";

test("a conversation that is deleted while it is added to does not come back", async () => {
  const { conversations, store } = testResponses();
  const owner = { id: "ada" };
  const { id } = await conversations.create(owner, { metadata: {}, items: [{ id: "msg_1" }] });
  const find = store.find.bind(store);
  const [read, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  store.find = async (...asked) => {
    const found = await find(...asked);
    read.resolve();
    await goOn.promise;
    return found;
  };
  const adding = conversations.add(id, owner, [{ id: "msg_2" }]);
  await read.promise;
  const deleting = conversations.delete(id, owner);
  goOn.resolve();
  await Promise.all([adding, deleting]);
  expect(await rejectionOf(conversations.get(id, owner))).toMatchObject({ kind: "no_such_object" });
});

describe("two processes on one data dir", () => {
  const owner = { id: "ada" };
  const item = (id: string) => ({ id });
  const begun = { metadata: {}, items: [item("msg_0")] };

  /** `meanwhile` is what the other process does after each time that the first has read a conversation. */
  async function twoProcesses(path: string) {
    const stack = new AsyncDisposableStack();
    const [one, other] = [testResponses({ path }), testResponses({ path })];
    stack.use(one.store);
    stack.use(other.store);
    const { id } = await one.conversations.create(owner, begun);
    const find = one.store.find.bind(one.store);
    const meanwhile = { do: async (): Promise<void> => {}, times: 0 };
    one.store.find = async (...asked) => {
      const found = await find(...asked);
      meanwhile.times++;
      await meanwhile.do();
      return found;
    };
    const add = async (service: typeof one, ...ids: string[]) =>
      await service.conversations.change(id, owner, ({ items }) => ({
        items: [...items, ...ids.map(item)],
      }));
    const idsIn = async (service: typeof one) =>
      (await service.conversations.get(id, owner)).items.map((each) => each.id);
    return {
      ...{ one, other, id, meanwhile, add, idsIn },
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  }

  test("lose none of each other's changes of a conversation", async () => {
    await using folder = await tempDir();
    await using both = await twoProcesses(`${folder.path}/responses.sqlite`);
    const { one, other, meanwhile, add, idsIn } = both;
    meanwhile.do = async () => {
      if (meanwhile.times < 3) await add(other, `msg_other_${meanwhile.times}`);
    };
    const changed = await add(one, "msg_one");
    const all = ["msg_0", "msg_other_1", "msg_other_2", "msg_one"];
    expect(changed.items.map(({ id }) => id)).toEqual(all);
    expect(await idsIn(other)).toEqual(all);
  });

  test("lose none where the clock stands still", async () => {
    await using folder = await tempDir();
    await using both = await twoProcesses(`${folder.path}/responses.sqlite`);
    const { one, other, meanwhile, add, idsIn } = both;
    const now = Date.now();
    using _clock = spyOn(Date, "now").mockImplementation(() => now);
    meanwhile.do = async () => {
      if (meanwhile.times === 1) await add(other, "msg_other");
    };
    await add(one, "msg_one");
    expect(await idsIn(other)).toEqual(["msg_0", "msg_other", "msg_one"]);
  });

  test("store no conversation again that the other has deleted", async () => {
    await using folder = await tempDir();
    await using both = await twoProcesses(`${folder.path}/responses.sqlite`);
    const { one, other, id, meanwhile, add, idsIn } = both;
    meanwhile.do = async () => {
      if (meanwhile.times === 1) await other.conversations.delete(id, owner);
    };
    const gone = { kind: "no_such_object" };
    expect(await rejectionOf(add(one, "msg_one"))).toMatchObject(gone);
    expect(await rejectionOf(idsIn(other))).toMatchObject(gone);
  });

  test("give up, with an error, where the other changes it all the time", async () => {
    await using folder = await tempDir();
    await using both = await twoProcesses(`${folder.path}/responses.sqlite`);
    const { one, other, id, meanwhile, add, idsIn } = both;
    meanwhile.do = async () =>
      void (await other.conversations.change(id, owner, () => ({ metadata: {} })));
    expect(await rejectionOf(add(one, "msg_one"))).toMatchObject({ kind: "unavailable" });
    expect(await idsIn(other)).toEqual(["msg_0"]);
  });
});

test.each(["conv_1", "resp_1"])("%s is read in a turn of its own, owners in turn", async (id) => {
  const { conversations, responses, store } = testResponses();
  store.find = async () => keptResponse(id);
  const service = id.startsWith("conv") ? conversations : responses;
  const read: [owner: string, turn: number][] = [];
  using turn = new CountedTurns();
  await Promise.all(
    ["ada", "ada", "ada", "bob"].map(async (owner) => {
      await service.get(id, { id: owner });
      read.push([owner, turn.now]);
    }),
  );
  expect(read.map(([owner]) => owner)).toEqual(["ada", "bob", "ada", "ada"]);
  expect(new Set(read.map(([, at]) => at)).size).toBe(4);
});
