import { expect, test } from "bun:test";
import { rejectionOf } from "../../../support/rejection.ts";
import { testResponses } from "../../../support/test-responses.ts";

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
