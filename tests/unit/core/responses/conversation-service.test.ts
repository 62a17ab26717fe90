import { expect, test } from "bun:test";
import { CountedTurns } from "../../../support/counted-turns.ts";
import { rejectionOf } from "../../../support/rejection.ts";
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
